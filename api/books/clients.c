/* Clients and their tokens. */
#include "api/books/clients.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/books/client_create.h"
#include "api/call/app.h"
#include "api/call/auth.h"
#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/call/pass.h"
#include "api/json/json_text.h"
#include "storage/clients.h"

static json_t *client_json(const struct client_row *client)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", client->id, "name", client->name, "role",
                     client->role, "created_at", json_time(client->created_ms), "revoked_at",
                     json_time(client->revoked_ms));
}

/* The client's JSON with the member "token", null when TOKEN is NULL. */
static json_t *new_client_json(const struct client_row *client, const char *token)
{
    json_t *json = client_json(client);
    json_object_set_new(json, "token", json_text_or_null(token));
    return json;
}

enum problem api_clients_create(struct call *call)
{
    static const char *const roles[] = {"admin", "steward", "contributor", "student",
                                        "agent", "auditor", NULL};
    const char *name = NULL;
    int role = 0;
    const struct field fields[] = {field_text("name", &name, 1, CLIENT_NAME_MAX_BYTES),
                                   field_choice("role", &role, roles)};
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]))
        return PROBLEM_VALIDATION;
    struct client_row client;
    char token[TOKEN_SIZE];
    enum db_status status =
        client_create(call->db, name, roles[role], call->now_ms, &client, token);
    if (status != DB_OK)
        return call_db(call, status);
    /* The token is not kept anywhere, so a repeat of the call cannot show it again. */
    call_store_instead(call, new_client_json(&client, NULL));
    call_header(call, "Location", "/v1/clients/%s", client.id);
    enum problem problem = call_reply_json(call, 201, new_client_json(&client, token));
    sodium_memzero(token, sizeof token);
    return problem;
}

static bool add_client(void *page, const struct client_row *client)
{
    return page_add(page, client_json(client), client->id);
}

enum problem api_clients_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, clients_list(call->db, page.after, page.limit, add_client, &page));
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
    return call_reply_empty(call, 204);
}
