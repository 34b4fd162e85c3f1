/* Clients and their tokens. */
#include "api/books/clients.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/books/client_create.h"
#include "api/books/client_tokens.h"
#include "api/call/app.h"
#include "api/call/auth.h"
#include "api/call/commitment.h"
#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/call/pass.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "api/teachers/share.h"

#define KEY_SALT_BYTES 16

static json_t *client_json(const struct client_row *client)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", client->id, "name", client->name, "role",
                     client->role, "created_at", json_time(client->created_ms), "revoked_at",
                     json_time(client->revoked_ms));
}

json_t *clients_new_json(const struct client_row *client, const struct client_token *made,
                         const char *token)
{
    json_t *json = client_json(client);
    json_object_set_new(json, "token", json_text_or_null(token));
    json_object_set_new(json, "credential", client_token_json(made));
    return json;
}

enum problem api_clients_create(struct call *call)
{
    static const char *const roles[] = {"admin", "steward", "contributor", "student",
                                        "agent", "auditor", "monitor",     NULL};
    const char *name = NULL;
    int role = 0;
    json_t *scopes = NULL;
    struct token_terms terms = {.scopes = call->caller.scopes};
    const struct field fields[] = {
        field_text("name", &name, 1, CLIENT_NAME_MAX_BYTES), field_choice("role", &role, roles),
        field_optional(field_array("scopes", &scopes, 1, 3)),
        field_optional(field_integer("expires_in_days", &terms.days, 1, TOKEN_DAYS_MOST))};
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
    enum problem problem = client_scopes_read(call, scopes, &terms.scopes);
    if (!good)
        return PROBLEM_VALIDATION;
    if (problem != PROBLEM_NONE)
        return problem;
    struct client_row client;
    struct client_token made;
    char token[TOKEN_SIZE];
    enum db_status status =
        client_create(call->db, name, roles[role], &terms, call->now_ms, &client, &made, token);
    if (status != DB_OK)
        return call_db(call, status);
    /* The token is not kept anywhere, so a repeat of the call cannot show it again. */
    call_store_instead(call, clients_new_json(&client, &made, NULL));
    call_header(call, "Location", "/v1/clients/%s", client.id);
    call->subject = roles[role];
    problem = call_reply_json(call, 201, clients_new_json(&client, &made, token));
    sodium_memzero(token, sizeof token);
    return problem;
}

static bool add_client(void *page, const struct client_row *client)
{
    return page_add(page, client_json(client), client->created_ms, client->id);
}

enum problem api_clients_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, clients_list(call->db, &page.rows, add_client, &page));
}

/* What the caller has shown: one of its tokens, or something that is not stored. */
static enum db_status caller_credential(struct call *call, json_t **out)
{
    const struct caller *caller = &call->caller;
    struct client_token token = {.scopes = caller->scopes};
    enum db_status status = DB_OK;
    if (caller->token != 0)
        status = client_tokens_find(call->db, caller->id, caller->token, &token);
    else if (caller->ends_ms != INT64_MAX)
        token.expires_ms = caller->ends_ms;
    *out = status == DB_OK ? client_token_json(&token) : NULL;
    return status;
}

/* What the caller may put into a hash that it takes for a key, so that nobody who reads the key can
 * check a guess of what else was hashed. It is the same for each of its tokens. */
static json_t *key_salt_json(const struct call *call)
{
    unsigned char salt[KEY_SALT_BYTES];
    char text[2 * KEY_SALT_BYTES + 1];
    const char *id = call->caller.id;
    keyed_hash(call->app, "tacet: salts of clients' keys, 1", id, strlen(id), salt, sizeof salt);
    return json_string(sodium_bin2hex(text, sizeof text, salt, sizeof salt));
}

enum problem api_clients_get(struct call *call)
{
    struct client_row client;
    json_t *credential = NULL, *salt = NULL;
    enum problem problem = clients_named(call, &client);
    if (problem != PROBLEM_NONE)
        return problem;
    if (strcmp(client.id, call->caller.id) == 0) {
        enum db_status status = caller_credential(call, &credential);
        if (status != DB_OK)
            return call_db(call, status);
        salt = key_salt_json(call);
    }
    json_t *json = client_json(&client);
    json_object_set_new(json, "credential", json_or_null(credential));
    json_object_set_new(json, "key_salt", json_or_null(salt));
    return call_reply_json(call, 200, json);
}

enum problem clients_named(struct call *call, struct client_row *out)
{
    const char *id = call_parameter(call, "id");
    if (strcmp(id, "me") == 0)
        id = call->caller.id;
    if (strcmp(id, call->caller.id) != 0 && !call_is(call, ROLE_ADMIN))
        return call_problem(
            call, PROBLEM_FORBIDDEN,
            "A client of role %s may do this only for itself. An admin may do it for any client.",
            role_name(call->caller.role));
    enum db_status status = clients_find(call->db, id, out);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such client.");
    return call_db(call, status);
}

enum problem api_clients_revoke(struct call *call)
{
    const char *id = call_parameter(call, "id");
    if (strcmp(id, call->caller.id) == 0)
        return call_problem(call, PROBLEM_CONFLICT, "A client cannot revoke itself.");
    pass_end_all(call->app);
    enum db_status status = clients_revoke(call->db, id, call->now_ms);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such client.");
    if (status != DB_OK)
        return call_db(call, status);
    enum problem problem = share_end_all(call, id, NULL); /* what was set aside is common again */
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_empty(call, 204);
}
