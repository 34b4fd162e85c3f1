/* Who may read a released policy: clients that its owner names, or every client. */
#include <stdio.h>
#include <string.h>

#include "api/call/fields.h"
#include "api/call/names.h"
#include "api/call/page.h"
#include "api/json/json_text.h"
#include "api/policies/policies.h"
#include "storage/clients.h"
#include "storage/policy_names.h"

/* NULL: the database failed. */
static json_t *grant_json(struct call *call, const struct policy_grant *grant)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o}", "policy", grant->policy, "client", grant->client,
                  "granted_by", grant->granted_by, "granted_at", json_time(grant->granted_ms));
    enum db_status status = names_add(call->db, json, "client_name", grant->client);
    if (status == DB_OK)
        status = names_add(call->db, json, "granted_by_name", grant->granted_by);
    if (call_db(call, status) == PROBLEM_NONE)
        return json;
    json_decref(json);
    return NULL;
}

static bool add_grant(void *context, const struct policy_grant *grant)
{
    struct page *page = context;
    return page_add(page, grant_json(page->call, grant), 0, "");
}

enum problem api_policy_grants_list(struct call *call)
{
    struct policy_row policy;
    struct page page;
    enum problem problem = policy_of_owner(call, call_parameter(call, "id"), &policy);
    if (problem != PROBLEM_NONE)
        return problem;
    page_whole(call, &page);
    return page_end(&page, policy_grants_list(call->db, policy.id, add_grant, &page));
}

/* Reads who is granted: {"client": id} or {"public": true}. */
static enum problem read_grantee(struct call *call, struct policy_grant *grant,
                                 struct client_row *client)
{
    const char *id = NULL;
    bool everybody = false;
    const struct field fields[] = {field_optional(field_text("client", &id, 1, ID_SIZE - 1)),
                                   field_optional(field_bool("public", &everybody))};
    if (!fields_read(call, call->body, "", fields, 2))
        return PROBLEM_VALIDATION;
    bool named = id;
    if (everybody == named)
        return call_invalid(call, "", "must have either client or \"public\": true");
    snprintf(grant->client, sizeof grant->client, "%s", everybody ? POLICY_PUBLIC : id);
    if (everybody)
        return PROBLEM_NONE;
    enum db_status status = clients_find(call->db, id, client);
    if (status == DB_NONE || (status == DB_OK && client->revoked_ms != 0))
        return call_invalid(call, "/client",
                            strncmp(id, "cli_", 4) == 0
                                ? "is not known"
                                : "is no id of a client (cli_...), which GET /v1/clients/me tells "
                                  "it");
    return call_db(call, status);
}

enum problem api_policy_grants_create(struct call *call)
{
    struct policy_row policy;
    struct client_row client = {.name = ""};
    struct policy_grant grant = {.granted_ms = call->now_ms};
    enum problem problem = policy_of_owner(call, call_parameter(call, "id"), &policy);
    if (problem == PROBLEM_NONE && (!policy.released || policy.shards > 0))
        problem = call_problem(call, PROBLEM_NOT_RELEASED,
                               "Only released policies are granted to others.");
    if (problem == PROBLEM_NONE)
        problem = read_grantee(call, &grant, &client);
    if (problem != PROBLEM_NONE)
        return problem;
    memcpy(grant.policy, policy.id, ID_SIZE);
    memcpy(grant.granted_by, call->caller.id, ID_SIZE);
    enum db_status status = policy_grants_insert(call->db, &grant);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_CONFLICT, "It is granted already.");
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/policies/%s/grants/%s", policy.id, grant.client);
    return call_reply_json(call, 201, grant_json(call, &grant));
}

enum problem api_policy_grants_delete(struct call *call)
{
    struct policy_row policy;
    enum problem problem = policy_of_owner(call, call_parameter(call, "id"), &policy);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status =
        policy_grants_delete(call->db, policy.id, call_parameter(call, "client"));
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such grant.");
    return call_reply_done(call, status);
}
