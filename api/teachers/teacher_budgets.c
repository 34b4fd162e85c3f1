/* Budgets of clients at a teacher: granted and changed by its steward, or opened by the first query
 * under the teacher's default. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/refusal.h"
#include "api/json/json_text.h"
#include "api/teachers/teachers.h"
#include "storage/clients.h"

#define EPSILON_MAX 1e6
#define REASON_MAX  500

struct grant {
    double epsilon, delta;
    const char *reason; /* NULL: none was given */
    struct filter limits;
    const char *event; /* of the ledger's entry, with the reason */
};

/* Opens CLIENT's account. */
static enum db_status client_account_open(struct call *call, const struct teacher_row *teacher,
                                          const char *client, const struct grant *grant,
                                          struct ledger_account *out)
{
    const struct ledger_opening opening = {.kind = LEDGER_CLIENT,
                                           .resource = teacher->id,
                                           .client = client,
                                           .owner = teacher->owner,
                                           .unit = teacher->adjacency,
                                           .renyi_order = teacher->renyi_order,
                                           .epsilon = grant->epsilon,
                                           .delta = grant->delta,
                                           .limit_units = grant->limits.limit_units,
                                           .limit_delta = grant->limits.limit_delta,
                                           .event = grant->event,
                                           .now_ms = call->now_ms};
    enum db_status status = ledger_open_account(call->db, &opening, out);
    if (status == DB_OK)
        status = teachers_client_insert(call->db, teacher->id, client, out->id, call->now_ms);
    /* This transaction has looked for both rows before, so neither can exist. */
    if (status == DB_NONE)
        return DB_FAILED;
    return status;
}

static enum db_status teacher_client_standing(struct call *call, const struct teacher_row *teacher,
                                              struct teacher_client_row *out)
{
    const char *client = call->caller.id;
    enum db_status status = teachers_client_find(call->db, teacher->id, client, out);
    if (status != DB_NONE || !teacher->has_client_budget)
        return status;
    struct grant grant = {.epsilon = teacher->client_epsilon,
                          .delta = teacher->client_delta,
                          .event = "{\"type\":\"NoOpDpEvent\"}"};
    if (!teacher_account(teacher, grant.epsilon, grant.delta, &grant.limits))
        return DB_NONE;
    struct ledger_account account;
    status = client_account_open(call, teacher, client, &grant, &account);
    if (status != DB_OK)
        return status;
    return teachers_client_find(call->db, teacher->id, client, out);
}

enum problem teacher_standing_of_call(struct call *call, const struct teacher_row *teacher,
                                      struct teacher_client_row *out)
{
    enum db_status status = teacher_client_standing(call, teacher, out);
    if (status == DB_NONE)
        return refusal_no_account(call, teacher->id);
    return call_db(call, status);
}

/* ---- granting */

static enum problem reply_budget(struct call *call, int http_status,
                                 const struct ledger_account *account, int64_t revision)
{
    call_header(call, "ETag", "\"%lld\"", (long long)revision);
    return call_reply_json(call, http_status, budget_json(account));
}

static enum problem check_client(struct call *call, const char *id)
{
    struct client_row client;
    enum db_status status = clients_find(call->db, id, &client);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status == DB_NONE || client.revoked_ms != 0 ||
        !(role_find(client.role) & (ROLE_STUDENT | ROLE_STEWARD)))
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such student.");
    return PROBLEM_NONE;
}

/* True when If-Match is "*", or a list of entity tags (RFC 9110, section 13.1.1) with that of
 * REVISION. A weak tag matches nothing. */
static bool revision_matches(const char *header, int64_t revision)
{
    char tag[32];
    size_t size = (size_t)snprintf(tag, sizeof tag, "\"%lld\"", (long long)revision);
    bool found = strcmp(header, "*") == 0;
    for (const char *at = header; !found && *at;) {
        at += strspn(at, " \t,");
        size_t length = strncmp(at, "W/", 2) == 0 ? 2 : 0;
        const char *end = at[length] == '"' ? strchr(at + length + 1, '"') : NULL;
        if (!end)
            return false;
        length = (size_t)(end + 1 - at);
        found = length == size && memcmp(at, tag, size) == 0;
        at += length;
        if (*at && !strchr(" \t,", *at))
            return false;
    }
    return found;
}

static enum problem budget_change(struct call *call, const struct teacher_client_row *standing,
                                  const struct grant *grant)
{
    const char *match = call_request_header(call, "If-Match");
    if (!match) {
        return call_problem(call, PROBLEM_PRECONDITION_REQUIRED,
                            "The client has a budget: send its ETag as If-Match to change it.");
    }
    int64_t expected = 0, revision = 0; /* no budget has revision 0 */
    if (revision_matches(match, standing->revision))
        expected = standing->revision;
    enum db_status status =
        teachers_client_revise(call->db, standing->teacher, standing->client, expected, &revision);
    if (status == DB_NONE) {
        return call_problem(call, PROBLEM_PRECONDITION_FAILED,
                            "The budget has changed since: its ETag is \"%lld\".",
                            (long long)standing->revision);
    }
    struct ledger_outcome outcome = {.verdict = LEDGER_OK};
    struct ledger_account account;
    if (status == DB_OK) {
        const struct ledger_limit limit = {.account = standing->account,
                                           .epsilon = grant->epsilon,
                                           .delta = grant->delta,
                                           .limit_units = grant->limits.limit_units,
                                           .limit_delta = grant->limits.limit_delta,
                                           .client = call->caller.id,
                                           .event = grant->event,
                                           .now_ms = call->now_ms};
        status = ledger_set_limit(call->db, &limit, &outcome.verdict, &account);
    }
    if (status != DB_OK)
        return call_db(call, status);
    if (outcome.verdict == LEDGER_OK)
        return reply_budget(call, 200, &account, revision);
    return refusal_make(call, &outcome, NULL);
}

static enum problem grant_new(struct call *call, const struct teacher_row *teacher,
                              const char *client, const struct grant *grant)
{
    if (call_request_header(call, "If-Match"))
        return call_problem(call, PROBLEM_PRECONDITION_FAILED, "The client has no budget yet.");
    struct ledger_account account;
    enum db_status status = client_account_open(call, teacher, client, grant, &account);
    if (status != DB_OK)
        return call_db(call, status);
    return reply_budget(call, 201, &account, 1);
}

static bool read_grant(struct call *call, const struct teacher_row *teacher, struct grant *out)
{
    *out = (struct grant){0};
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, EPSILON_MAX),
        field_positive("delta", &out->delta, 1),
        field_optional(field_text("reason", &out->reason, 1, REASON_MAX)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return false;
    if (out->delta >= 1) {
        call_invalid(call, "/delta", "must be below 1");
        return false;
    }
    if (!teacher_account(teacher, out->epsilon, out->delta, &out->limits)) {
        call_invalid(call, "/epsilon",
                     "is too small at this delta: at the teacher's order %g it could not pay for "
                     "any question",
                     teacher->renyi_order);
        return false;
    }
    if (out->limits.limit_delta < teacher->delta_share) {
        call_invalid(call, "/delta", "must be at least %g, which each answer spends",
                     ledger_delta_value(teacher->delta_share));
        return false;
    }
    return true;
}

/* The event of a ledger entry, with the reason for the budget. The hashes of the entries cover
 * both. */
static const char *budget_event(struct call *call, const char *reason)
{
    size_t size;
    json_t *json = json_pack("{s:s}", "type", "NoOpDpEvent");
    if (reason)
        json_object_set_new(json, "reason", json_string(reason));
    char *text = json_text_write(json, false, &size), *event = arena_copy(&call->arena, text, size);
    json_decref(json);
    free(text);
    return event;
}

enum problem api_teachers_put_budget(struct call *call)
{
    struct teacher_row teacher;
    struct grant grant;
    const char *client = call_parameter(call, "client");
    enum problem problem = teacher_of_call(call, &teacher);
    if (problem != PROBLEM_NONE || (problem = check_client(call, client)) != PROBLEM_NONE)
        return problem;
    if (!read_grant(call, &teacher, &grant))
        return PROBLEM_VALIDATION;
    grant.event = budget_event(call, grant.reason);
    struct teacher_client_row standing;
    enum db_status status = teachers_client_find(call->db, teacher.id, client, &standing);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status != DB_OK)
        return grant_new(call, &teacher, client, &grant);
    return budget_change(call, &standing, &grant);
}

enum problem api_teachers_get_budget(struct call *call)
{
    struct teacher_row teacher;
    const char *client = call_parameter(call, "client");
    enum problem problem = teacher_of_call(call, &teacher);
    if (problem != PROBLEM_NONE)
        return problem;
    struct teacher_client_row standing;
    struct ledger_account account;
    bool may = call_is(call, ROLE_STEWARD) || strcmp(client, call->caller.id) == 0;
    enum db_status status = DB_NONE;
    if (may)
        status = teachers_client_find(call->db, teacher.id, client, &standing);
    if (status == DB_NONE) {
        return call_problem(call, PROBLEM_NOT_FOUND,
                            "There is no such budget. One under the teacher's default is opened by "
                            "the client's first query.");
    }
    if (status == DB_OK)
        status = ledger_find(call->db, standing.account, &account);
    if (status != DB_OK)
        return call_db(call, status);
    return reply_budget(call, 200, &account, standing.revision);
}
