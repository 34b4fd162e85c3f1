/* A client's row is all that is kept of a subject. */
#include "api/call/outsider.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/auth.h"
#include "api/call/call_serve.h"
#include "api/identity/identity.h"
#include "storage/clients.h"

/* The id of the client for SUBJECT of the issuer. */
static void client_id_of(const struct app *app, const char *subject, char out[ID_SIZE])
{
    static const char purpose[] = "tacet: clients of an issuer, 1";
    const char *issuer = identity_issuer(app->settings.identity);
    unsigned char key[crypto_generichash_KEYBYTES], bits[ID_RANDOM];
    crypto_generichash_state state;
    /* The first half of an Ed25519 secret key is its seed. */
    crypto_generichash(key, sizeof key, (const unsigned char *)purpose, sizeof purpose,
                       app->secret_key, crypto_sign_SEEDBYTES);
    crypto_generichash_init(&state, key, sizeof key, sizeof bits);
    crypto_generichash_update(&state, (const unsigned char *)issuer, strlen(issuer) + 1);
    crypto_generichash_update(&state, (const unsigned char *)subject, strlen(subject));
    crypto_generichash_final(&state, bits, sizeof bits);
    sodium_memzero(key, sizeof key);
    id_from("cli_", bits, out);
}

/* Writes "SUBJECT (ISSUER)", cut between two characters where it is too long. */
static void client_name_of(const char *subject, const char *issuer, char out[NAME_SIZE])
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%.300s (%.500s)", subject, issuer);
    size_t length = strlen(whole);
    if (length >= NAME_SIZE) {
        length = NAME_SIZE - 1;
        while (length > 0 && ((unsigned char)whole[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(out, whole, length);
    out[length] = '\0';
}

enum problem outsider_check(struct call *call, const char *token)
{
    struct identity_caller *who = arena_alloc(&call->arena, sizeof *who);
    struct client_row client;
    const char *why = NULL;
    enum identity_status found =
        identity_check(call->app->settings.identity, token, call->now_ms, who, &why);
    if (found == IDENTITY_INVALID)
        return auth_refuse(call, why);
    if (found == IDENTITY_NO_ROLE)
        return call_problem(call, PROBLEM_FORBIDDEN, "%s", why);
    call->caller =
        (struct caller){.role = role_find(who->role), .scopes = SCOPE_ALL, .ends_ms = who->ends_ms};
    client_id_of(call->app, who->subject, call->caller.id);
    enum db_status status = clients_find(call->db, call->caller.id, &client);
    if (status == DB_NONE) {
        call->newcomer = who;
        return PROBLEM_NONE;
    }
    if (status != DB_OK)
        return call_db(call, status);
    if (client.revoked_ms != 0)
        return auth_refuse(call, "The client of this subject is revoked.");
    if (strcmp(client.role, who->role) != 0)
        return call_problem(call, PROBLEM_FORBIDDEN,
                            "The token gives the role %s, but its client is %s: the role of a "
                            "client never changes.",
                            who->role, client.role);
    return PROBLEM_NONE;
}

struct enrolment {
    const struct client_row *client;
    struct trail_row row;
};

static enum db_status enroll_work(struct db *db, void *context)
{
    struct enrolment *enrolment = context;
    enum db_status status = clients_insert(db, enrolment->client);
    return status == DB_OK ? trail_append(db, &enrolment->row) : status;
}

/* Stores CLIENT, with its row of the audit trail. DB_NONE: it is there. */
static enum db_status enroll_client(struct call *call, const struct client_row *client)
{
    struct enrolment enrolment = {.client = client};
    struct trail_row *row = &enrolment.row;
    call_trail_row(call, row);
    snprintf(row->action, sizeof row->action, "enrolment by the issuer of tokens");
    snprintf(row->outcome, sizeof row->outcome, "ok");
    snprintf(row->resource, sizeof row->resource, "%s", client->id);
    row->subject[0] = '\0';
    return db_transact(call->db, enroll_work, &enrolment);
}

enum problem outsider_enroll(struct call *call)
{
    const struct identity_caller *who = call->newcomer;
    struct client_row client = {.created_ms = call->now_ms};
    memcpy(client.id, call->caller.id, sizeof client.id);
    snprintf(client.role, sizeof client.role, "%s", who->role);
    client_name_of(who->subject, identity_issuer(call->app->settings.identity), client.name);
    enum db_status status = enroll_client(call, &client);
    if (status == DB_NONE) /* two calls came at once: this one, too, is checked against the row */
        status = clients_find(call->db, client.id, &client);
    if (status != DB_OK)
        return call_db(call, status);
    call->newcomer = NULL;
    if (client.revoked_ms != 0 || strcmp(client.role, who->role) != 0)
        return auth_refuse(call, "The client of this subject is another one.");
    return PROBLEM_NONE;
}
