/* Making clients and tokens. */
#include "api/books/client_create.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/auth.h"
#include "storage/ledger/trail.h"

#define DAY_MS 86400000

static enum db_status make_token(struct db *db, const char *client, const struct token_terms *terms,
                                 int64_t now_ms, struct client_token *out, char token[TOKEN_SIZE])
{
    *out = (struct client_token){.scopes = terms->scopes, .created_ms = now_ms};
    out->expires_ms = terms->days != 0 ? now_ms + terms->days * DAY_MS : 0;
    snprintf(out->client, sizeof out->client, "%s", client);
    auth_token_new(client, token, out->secret_hash);
    return client_tokens_insert(db, out);
}

enum db_status client_create(struct db *db, const char *name, const char *role,
                             const struct token_terms *terms, int64_t now_ms,
                             struct client_row *out, struct client_token *out_token,
                             char token[TOKEN_SIZE])
{
    memset(out, 0, sizeof *out);
    id_new("cli_", out->id);
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->role, sizeof out->role, "%s", role);
    out->created_ms = now_ms;
    enum db_status status = clients_insert(db, out);
    return status == DB_OK ? make_token(db, out->id, terms, now_ms, out_token, token) : status;
}

enum db_status client_rotate(struct db *db, const struct token_rotation *rotation,
                             struct client_token *out_token, char token[TOKEN_SIZE])
{
    int64_t now_ms = rotation->now_ms, count = 0;
    enum db_status status = client_tokens_count(db, rotation->client, now_ms, &count);
    if (status == DB_OK && count >= CLIENT_TOKENS_MOST)
        return DB_NONE;
    if (status == DB_OK)
        status = make_token(db, rotation->client, &rotation->terms, now_ms, out_token, token);
    if (status != DB_OK)
        return status;
    int64_t until_ms = rotation->overlap_s != 0 ? now_ms + rotation->overlap_s * 1000 : -now_ms;
    return client_tokens_end_older(db, rotation->client, out_token->number, rotation->replaced,
                                   until_ms);
}

/* ---- from the command line */

/* Wipes TOKEN unless STATUS is DB_OK. NULL, or what went wrong. */
static const char *say_outcome(enum db_status status, char token[TOKEN_SIZE])
{
    if (status == DB_OK)
        return NULL;
    sodium_memzero(token, TOKEN_SIZE);
    if (status == DB_FULL)
        return "the disk is full or read-only";
    return "the database failed";
}

/* Notes in the audit trail what the machine's operator did to CLIENT. SUBJECT: a role, or a token's
 * number. */
static enum db_status note_command(struct db *db, const char *action, const char *client,
                                   const char *subject, int64_t now_ms)
{
    struct trail_row row = {.time_ms = now_ms, .actor = "operator", .outcome = "ok", .count = 1};
    snprintf(row.action, sizeof row.action, "%s", action);
    snprintf(row.resource, sizeof row.resource, "%s", client);
    snprintf(row.subject, sizeof row.subject, "%s", subject);
    return trail_append(db, &row);
}

struct creation {
    const char *name, *role;
    const struct token_terms *terms;
    int64_t now_ms;
    char *token;
};

static enum db_status create_work(struct db *db, void *context)
{
    struct creation *creation = context;
    struct client_row client;
    struct client_token made;
    enum db_status status = client_create(db, creation->name, creation->role, creation->terms,
                                          creation->now_ms, &client, &made, creation->token);
    if (status != DB_OK)
        return status;
    return note_command(db, "tacet client create", client.id, client.role, creation->now_ms);
}

const char *api_client_create(struct app *app, struct db *db, const char *name, const char *role,
                              const struct token_terms *terms, char token[TOKEN_SIZE])
{
    size_t length = strlen(name);
    if (length < 1 || length > CLIENT_NAME_MAX_BYTES)
        return "the name must be 1 to 100 bytes long";
    if (role_find(role) == ROLE_NONE)
        return "the role must be admin, steward, contributor, student, agent, auditor or monitor";
    struct creation creation = {name, role, terms, app->settings.now_ms(), token};
    return say_outcome(db_transact(db, create_work, &creation), token);
}

struct replacement {
    struct token_rotation *rotation;
    const char *wrong;
    char *token;
};

static enum db_status rotate_work(struct db *db, void *context)
{
    struct replacement *replacement = context;
    struct token_rotation *rotation = replacement->rotation;
    struct client_row client;
    struct client_token token = {.number = 0};
    char number[24];
    enum db_status status = clients_find(db, rotation->client, &client);
    replacement->wrong = NULL;
    if (status == DB_NONE)
        replacement->wrong = "there is no such client";
    if (status == DB_OK && client.revoked_ms != 0) {
        replacement->wrong = "the client is revoked";
        status = DB_NONE;
    }
    if (status != DB_OK)
        return status;
    struct token_rotation now = *rotation;
    if (now.terms.scopes == 0) {
        status = client_tokens_find(db, now.client, 0, &token);
        now.terms.scopes = status == DB_OK ? token.scopes : SCOPE_ALL;
    }
    if (now.terms.scopes == 0) {
        replacement->wrong = "the scopes of its newest token are not known any more: name them";
        return DB_NONE;
    }
    if (status == DB_OK || status == DB_NONE)
        status = client_rotate(db, &now, &token, replacement->token);
    snprintf(number, sizeof number, "%lld", (long long)token.number);
    if (status == DB_OK)
        status = note_command(db, "tacet client rotate", now.client, number, now.now_ms);
    if (status == DB_NONE)
        replacement->wrong = "the client has 10 tokens that work; delete one first";
    return status;
}

const char *api_client_rotate(struct app *app, struct db *db, struct token_rotation *rotation,
                              char token[TOKEN_SIZE])
{
    struct replacement replacement = {rotation, NULL, token};
    rotation->now_ms = app->settings.now_ms();
    const char *wrong = say_outcome(db_transact(db, rotate_work, &replacement), token);
    return replacement.wrong ? replacement.wrong : wrong;
}
