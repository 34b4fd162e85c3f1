/* The tokens of a client.
 *
 * DESIGN. Whoever holds a token can keep it alive by rotating it, and nothing more: the new token
 * has no scope that the old one lacks, and is not made for longer. Nor can it end a token that has
 * further scopes. */
#include "api/books/client_tokens.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/books/client_create.h"
#include "api/books/clients.h"
#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/call/pass.h"
#include "api/json/json_text.h"
#include "api/json/text.h"

#define DAY_MS 86400000

/* ---- what is shown */

static json_t *scopes_json(uint32_t scopes)
{
    json_t *list = json_array();
    for (unsigned bit = 1; bit <= SCOPE_ALL; bit <<= 1)
        if (scopes & bit)
            json_array_append_new(list, json_string(scope_name(bit)));
    return list;
}

json_t *client_token_json(const struct client_token *token)
{
    int64_t ends_ms = client_token_end(token->expires_ms, llabs(token->revoked_ms));
    json_t *number = token->number != 0 ? json_integer(token->number) : json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "number", number, "scopes", scopes_json(token->scopes),
                     "created_at", json_time(token->created_ms), "expires_at", json_time(ends_ms));
}

static bool add_token(void *page, const struct client_token *token)
{
    return page_add(page, client_token_json(token), 0, "");
}

enum problem api_client_tokens_list(struct call *call)
{
    struct page page;
    struct client_row client;
    enum problem problem = clients_named(call, &client);
    if (problem != PROBLEM_NONE)
        return problem;
    page_whole(call, &page);
    return page_end(&page, client_tokens_list(call->db, client.id, add_token, &page));
}

/* ---- scopes */

enum problem client_scopes_refuse(struct call *call)
{
    return call_problem(call, PROBLEM_INSUFFICIENT_SCOPE,
                        "A token cannot give a scope that it does not have.");
}

enum problem client_scopes_read(struct call *call, const json_t *list, uint32_t *out)
{
    unsigned faults = call_error_count(call);
    uint32_t scopes = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        unsigned scope = scope_find(text_or_empty(json_string_value(json_array_get(list, i))));
        if (scope == 0)
            call_invalid(call, "/scopes", "must name read, write or spend");
        scopes |= scope;
    }
    if (call_error_count(call) != faults)
        return PROBLEM_VALIDATION;
    if (list)
        *out = scopes;
    if (*out & ~call->caller.scopes)
        return client_scopes_refuse(call);
    return PROBLEM_NONE;
}

/* ---- a new token */

/* The days for which TOKEN was made; 0: without an end. */
static int64_t days_of(const struct client_token *token)
{
    return token->expires_ms == 0 ? 0 : (token->expires_ms - token->created_ms) / DAY_MS;
}

/* Sets what the body leaves open to what the token OLD has. */
static enum problem read_rotation(struct call *call, const struct client_token *old, bool by_itself,
                                  struct token_rotation *out)
{
    json_t *scopes = NULL;
    bool known = old->scopes != 0;
    int64_t most = known ? days_of(old) : 0, days = most;
    *out = (struct token_rotation){.client = old->client,
                                   .terms = {.scopes = old->scopes},
                                   .replaced = by_itself ? old->scopes : SCOPE_ALL,
                                   .overlap_s = TOKEN_OVERLAP_DEFAULT_S,
                                   .now_ms = call->now_ms};
    const struct field fields[] = {
        field_optional(field_integer("overlap_seconds", &out->overlap_s, 0, TOKEN_OVERLAP_MOST_S)),
        field_optional(field_integer("expires_in_days", &days, 1, TOKEN_DAYS_MOST)),
        field_optional(field_array("scopes", &scopes, 1, 3))};
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]);
    if (by_itself && most != 0 && days > most) {
        call_invalid(call, "/expires_in_days",
                     "is more than the %" PRId64 " days of the calling token", most);
        good = false;
    }
    out->terms.days = days;
    enum problem problem = client_scopes_read(call, scopes, &out->terms.scopes);
    if (!good)
        return PROBLEM_VALIDATION;
    if (problem == PROBLEM_NONE && !known && (!scopes || days == 0))
        return call_invalid(call, "/scopes",
                            "and expires_in_days must be given: those of the newest token are not "
                            "known any more");
    return problem;
}

enum problem api_client_tokens_rotate(struct call *call)
{
    struct client_row client;
    struct client_token old = {.scopes = SCOPE_ALL}, made;
    struct token_rotation rotation;
    char token[TOKEN_SIZE];
    enum problem problem = clients_named(call, &client);
    if (problem != PROBLEM_NONE)
        return problem;
    bool by_itself = strcmp(client.id, call->caller.id) == 0;
    if (by_itself && call->caller.token == 0)
        return call_problem(call, PROBLEM_FORBIDDEN,
                            "Only a token of this service can be rotated by itself.");
    if (client.revoked_ms != 0)
        return call_problem(call, PROBLEM_CONFLICT, "The client is revoked.");
    enum db_status status =
        client_tokens_find(call->db, client.id, by_itself ? call->caller.token : 0, &old);
    if (status != DB_OK && (status != DB_NONE || by_itself))
        return call_db(call, status);
    memcpy(old.client, client.id, sizeof old.client);
    problem = read_rotation(call, &old, by_itself, &rotation);
    if (problem != PROBLEM_NONE)
        return problem;
    pass_end_all(call->app);
    status = client_rotate(call->db, &rotation, &made, token);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The client has %d tokens that work. Delete one first.",
                            CLIENT_TOKENS_MOST);
    if (status != DB_OK)
        return call_db(call, status);
    call_store_instead(call, clients_new_json(&client, &made, NULL));
    problem = call_reply_json(call, 201, clients_new_json(&client, &made, token));
    sodium_memzero(token, sizeof token);
    return problem;
}

/* ---- the end of one */

/* The number in the path; 0: it is none. */
static int64_t token_number(const struct call *call)
{
    const char *text = call_parameter(call, "token");
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= 18 || text[length] != '\0')
        return 0;
    return strtoll(text, NULL, 10);
}

enum problem api_client_tokens_end(struct call *call)
{
    struct client_row client;
    struct client_token token;
    int64_t number = token_number(call);
    enum problem problem = clients_named(call, &client);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status =
        number == 0 ? DB_NONE : client_tokens_find(call->db, client.id, number, &token);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "The client has no such token.");
    bool own = strcmp(client.id, call->caller.id) == 0;
    if (status != DB_OK && (own || status != DB_FAILED))
        return call_db(call, status);
    /* An admin may end a damaged one, too. */
    if (own && (token.scopes & ~call->caller.scopes) != 0)
        return call_problem(call, PROBLEM_INSUFFICIENT_SCOPE,
                            "A token cannot end one that has further scopes.");
    pass_end_all(call->app);
    status = client_tokens_end(call->db, client.id, number, -call->now_ms);
    return call_reply_done(call, status);
}
