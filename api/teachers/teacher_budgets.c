/* Budgets of clients at a teacher: granted and changed by its steward, or opened by the first query
 * under the teacher's default. */
#include <string.h>

#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/names.h"
#include "api/call/refusal.h"
#include "api/call/revision.h"
#include "api/teachers/grant.h"
#include "api/teachers/teachers.h"

#define REASON_MAX 500

/* Opens the caller's account under the default budget, with what it guarantees. */
static enum problem open_default(struct call *call, const struct teacher_row *teacher)
{
    struct grant grant = {.epsilon = teacher->client_epsilon,
                          .delta = teacher->client_delta,
                          .event = "{\"type\":\"NoOpDpEvent\"}"};
    struct ledger_account account;
    enum db_status status = grant_default(call, teacher, &grant);
    if (status != DB_OK)
        return call_db(call, status);
    if (!grant_check(call, teacher, &grant))
        return PROBLEM_VALIDATION;
    return grant_open(call, teacher, call->caller.id, &grant, &account);
}

enum problem teacher_standing_of_call(struct call *call, const struct teacher_row *teacher,
                                      struct teacher_client_row *out)
{
    const char *client = call->caller.id;
    enum db_status status = teachers_client_find(call->db, teacher->id, client, out);
    if (status == DB_NONE && !teacher->has_client_budget)
        return refusal_no_account(call, teacher->id);
    if (status != DB_NONE)
        return call_db(call, status);
    enum problem problem = open_default(call, teacher);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_db(call, db_owed(teachers_client_find(call->db, teacher->id, client, out)));
}

/* ---- granting */

static enum problem reply_budget(struct call *call, int http_status,
                                 const struct teacher_row *teacher, const char *client,
                                 const struct ledger_account *account)
{
    struct teacher_client_row standing;
    int64_t answers = -1;
    struct ledger_limits limits;
    enum db_status status = db_optional(teacher_buys(call->db, account, &answers));
    if (status == DB_OK)
        status = db_owed(ledger_limits(call->db, account->id, &limits));
    if (status == DB_OK)
        status = db_owed(teachers_client_find(call->db, teacher->id, client, &standing));
    if (status != DB_OK)
        return call_db(call, status);
    json_t *guaranteed = share_json(call, teacher, &standing);
    if (!guaranteed)
        return call_db(call, DB_FAILED);
    json_t *budget = budget_json(account);
    json_object_set_new(budget, "guaranteed", guaranteed);
    json_object_set_new(budget, "buys", buys_json(-1, answers, -1));
    if (names_add(call->db, budget, "client_name", account->client) != DB_OK) {
        json_decref(budget);
        return call_db(call, DB_FAILED);
    }
    revision_show(call, limits.revision);
    return call_reply_json(call, http_status, budget);
}

static enum problem budget_change(struct call *call, const struct teacher_row *teacher,
                                  struct teacher_client_row *standing, const struct grant *grant)
{
    struct ledger_limits limits;
    struct ledger_account account;
    enum db_status status = db_owed(ledger_limits(call->db, standing->account, &limits));
    if (status != DB_OK)
        return call_db(call, status);
    enum problem problem = revision_check(call, "budget", limits.revision);
    if (problem == PROBLEM_NONE)
        problem = grant_change(call, teacher, standing, grant, &account);
    if (problem != PROBLEM_NONE)
        return problem;
    return reply_budget(call, 200, teacher, standing->client, &account);
}

static enum problem grant_new(struct call *call, const struct teacher_row *teacher,
                              const char *client, const struct grant *grant)
{
    if (call_request_header(call, "If-Match"))
        return call_problem(call, PROBLEM_PRECONDITION_FAILED, "The client has no budget yet.");
    struct ledger_account account;
    enum problem problem = grant_open(call, teacher, client, grant, &account);
    if (problem != PROBLEM_NONE)
        return problem;
    return reply_budget(call, 201, teacher, client, &account);
}

static bool read_grant(struct call *call, const struct teacher_row *teacher, struct grant *out)
{
    const char *reason = NULL;
    json_t *guaranteed = NULL;
    *out = (struct grant){0};
    const struct field fields[] = {
        field_positive("epsilon", &out->epsilon, GRANT_EPSILON_MAX),
        field_positive("delta", &out->delta, 1),
        field_optional(field_object("guaranteed", &guaranteed)),
        field_optional(field_text("reason", &reason, 1, REASON_MAX)),
    };
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields);
    if (guaranteed)
        share_read(call, guaranteed, "/guaranteed", &out->guaranteed);
    if (!good || call_error_count(call) > 0 || !grant_check(call, teacher, out))
        return false;
    out->event = grant_event(call, reason, NULL);
    return true;
}

enum problem api_teachers_put_budget(struct call *call)
{
    struct teacher_row teacher;
    struct grant grant;
    const char *client = call_parameter(call, "client");
    enum problem problem = teacher_of_call(call, &teacher);
    if (problem != PROBLEM_NONE || (problem = grant_find_client(call, client)) != PROBLEM_NONE ||
        (problem = teacher_check_open(call, teacher.id)) != PROBLEM_NONE)
        return problem;
    if (!read_grant(call, &teacher, &grant))
        return PROBLEM_VALIDATION;
    struct teacher_client_row standing;
    enum db_status status = teachers_client_find(call->db, teacher.id, client, &standing);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status != DB_OK)
        return grant_new(call, &teacher, client, &grant);
    return budget_change(call, &teacher, &standing, &grant);
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
        status = teachers_client_account(call->db, &standing, &account);
    if (status != DB_OK)
        return call_db(call, status);
    return reply_budget(call, 200, &teacher, client, &account);
}
