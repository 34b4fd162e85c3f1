/* Requests for larger budgets.
 *
 * DESIGN. What is asked for is a whole limit, as PUT .../budgets/{client} sets it: under Renyi
 * composition "so much more" has no meaning of its own. A request changes nothing by itself. The
 * approval goes the way of a grant, and may only raise: a limit that has risen meanwhile stays. */
#include "api/teachers/budget_requests.h"

#include <stdio.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/names.h"
#include "api/call/page.h"
#include "api/call/refusal.h"
#include "api/json/json_text.h"
#include "api/json/text.h"
#include "api/teachers/grant.h"
#include "api/teachers/teachers.h"
#include "storage/budget_requests.h"

#define REASON_MAX     (BUDGET_REASON_SIZE - 1)
#define OPEN_MAX       10 /* requests of one client that wait for an answer */
#define DELTA_MOST     1
#define NO_SUCH        "There is no such request."
#define TEACHER_PREFIX "tch_"

/* ---- as JSON */

/* NULL: the database failed. The client sees its own name, the steward that of its teacher too. */
static json_t *request_json(struct call *call, const struct budget_request_row *row)
{
    json_t *given = json_null();
    if (row->state == BUDGET_REQUEST_APPROVED)
        given = budget_amount(row->given_epsilon, row->given_delta);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "id", row->id,
                             "client", row->client, "teacher", row->teacher, "status",
                             budget_request_state_name(row->state), "asked",
                             budget_amount(row->epsilon, row->delta), "reason", row->reason,
                             "given", given, "answer", json_text_or_null(row->answer), "created_at",
                             json_time(row->created_ms), "decided_at", json_time(row->decided_ms));
    bool owner = call_owns(call, row->owner);
    if (names_add(call->db, json, "client_name", row->client) == DB_OK &&
        names_show(call->db, json, "teacher_name", row->teacher, owner) == DB_OK)
        return json;
    json_decref(json);
    return NULL;
}

/* ---- asking */

/* Reads the teacher of the account ID, which is the caller's own. */
static enum problem teacher_of_account(struct call *call, const char *id, char out[ID_SIZE])
{
    struct ledger_account account;
    enum db_status status = ledger_find(call->db, id, &account);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    bool own = status == DB_OK && strcmp(account.client, call->caller.id) == 0;
    if (!own || strncmp(account.resource, TEACHER_PREFIX, strlen(TEACHER_PREFIX)) != 0)
        return call_problem(call, PROBLEM_NOT_FOUND, "You have no such account at a teacher.");
    memcpy(out, account.resource, ID_SIZE);
    return PROBLEM_NONE;
}

/* Sets *OUT to the caller's account at TEACHER. DB_NONE: it has none yet. */
static enum db_status own_account(struct call *call, const struct teacher_row *teacher,
                                  struct ledger_account *out)
{
    struct teacher_client_row standing;
    enum db_status status = teachers_client_find(call->db, teacher->id, call->caller.id, &standing);
    return status == DB_OK ? teachers_client_account(call->db, &standing, out) : status;
}

/* Sets the delta that was not sent, and refuses a limit that is no larger than the present one. */
static enum problem compare_present(struct call *call, const struct teacher_row *teacher,
                                    struct budget_request_row *row)
{
    struct ledger_account account = {.epsilon = 0};
    enum db_status status = own_account(call, teacher, &account);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status == DB_NONE && teacher->has_client_budget) { /* what the first question opens */
        account.epsilon = teacher->client_epsilon;
        account.delta = teacher->client_delta;
    }
    if (row->delta == 0)
        row->delta = account.delta;
    if (row->epsilon < account.epsilon || row->delta < account.delta ||
        (row->epsilon == account.epsilon && row->delta == account.delta)) {
        return call_invalid(call, "/epsilon",
                            "must ask for more than the present limit, epsilon %.9g and delta "
                            "%.9g: it is a whole limit, not an addition",
                            account.epsilon, account.delta);
    }
    return PROBLEM_NONE;
}

static enum problem check_open(struct call *call, const struct budget_request_row *row)
{
    int64_t all = 0, here = 0;
    enum db_status status = budget_requests_count(call->db, row->client, row->teacher, &all, &here);
    if (status != DB_OK)
        return call_db(call, status);
    if (here > 0)
        return call_problem(call, PROBLEM_CONFLICT,
                            "Your request at this teacher waits for an answer already: it is "
                            "among your open ones.");
    if (all >= OPEN_MAX)
        return call_problem(call, PROBLEM_CONFLICT,
                            "%d of your requests wait for answers, and no client may have more.",
                            OPEN_MAX);
    return PROBLEM_NONE;
}

static enum problem read_asked(struct call *call, struct budget_request_row *out,
                               const char **out_account)
{
    const char *teacher = NULL, *reason = NULL;
    const struct field fields[] = {
        field_optional(field_text("teacher", &teacher, 1, ID_SIZE - 1)),
        field_optional(field_text("account", out_account, 1, ID_SIZE - 1)),
        field_positive("epsilon", &out->epsilon, GRANT_EPSILON_MAX),
        field_optional(field_positive("delta", &out->delta, DELTA_MOST)),
        field_text("reason", &reason, 1, REASON_MAX),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    if (!teacher == !*out_account)
        return call_invalid(call, "", "must have either teacher or account");
    snprintf(out->teacher, sizeof out->teacher, "%s", text_or_empty(teacher));
    snprintf(out->reason, sizeof out->reason, "%s", reason);
    return PROBLEM_NONE;
}

/* Reads the request into OUT and checks it; it could be approved as it is. */
static enum problem request_read(struct call *call, struct budget_request_row *out)
{
    struct teacher_row teacher;
    const char *account = NULL;
    enum problem problem = read_asked(call, out, &account);
    if (problem == PROBLEM_NONE && account)
        problem = teacher_of_account(call, account, out->teacher);
    if (problem == PROBLEM_NONE)
        problem = teacher_admit(call, teachers_find(call->db, out->teacher, &teacher), &teacher);
    if (problem == PROBLEM_NONE)
        problem = teacher_check_open(call, teacher.id);
    if (problem == PROBLEM_NONE)
        problem = compare_present(call, &teacher, out);
    if (problem != PROBLEM_NONE)
        return problem;
    memcpy(out->client, call->caller.id, ID_SIZE);
    memcpy(out->owner, teacher.owner, ID_SIZE);
    struct grant grant = {.epsilon = out->epsilon, .delta = out->delta};
    if (!grant_check(call, &teacher, &grant))
        return PROBLEM_VALIDATION;
    return check_open(call, out);
}

enum problem api_budget_requests_create(struct call *call)
{
    struct budget_request_row row = {.created_ms = call->now_ms};
    enum problem problem = request_read(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    id_new("brq_", row.id);
    enum db_status status = budget_requests_insert(call->db, &row);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/budget-requests/%s", row.id);
    return call_reply_json(call, 201, request_json(call, &row));
}

/* ---- seeing */

/* Finds the request {id} if it is the caller's: its client's or its steward's. */
static enum problem request_of_call(struct call *call, struct budget_request_row *out)
{
    enum db_status status = budget_requests_find(call->db, call_parameter(call, "id"), out);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    bool own = status == DB_OK &&
               (call_is(call, ROLE_STEWARD) ? call_owns(call, out->owner)
                                            : strcmp(out->client, call->caller.id) == 0);
    if (!own)
        return call_problem(call, PROBLEM_NOT_FOUND, NO_SUCH);
    return PROBLEM_NONE;
}

enum problem api_budget_requests_get(struct call *call)
{
    struct budget_request_row row;
    enum problem problem = request_of_call(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, request_json(call, &row));
}

static bool list_request(void *context, const struct budget_request_row *row)
{
    struct page *page = context;
    return page_add(page, request_json(page->call, row), row->created_ms, row->id);
}

enum problem api_budget_requests_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    enum budget_request_state state;
    const char *named = call_query(call, "status");
    if (named && !budget_request_state_find(named, &state))
        return call_invalid_query(call, "status", "must be open, approved or declined");
    return page_end(&page,
                    budget_requests_list(call->db, call_guest(call), page_owner(&page),
                                         named ? &state : NULL, &page.rows, list_request, &page));
}

/* ---- deciding */

static enum problem open_request(struct call *call, struct budget_request_row *out)
{
    enum problem problem = request_of_call(call, out);
    if (problem == PROBLEM_NONE && out->state != BUDGET_REQUEST_OPEN)
        return call_problem(call, PROBLEM_CONFLICT, "The request has been decided: %s.",
                            budget_request_state_name(out->state));
    return problem;
}

/* Stores the decision, which nobody else has made meanwhile, and shows it. */
static enum problem request_decide(struct call *call, struct budget_request_row *row,
                                   enum budget_request_state state, const char *answer)
{
    row->state = state;
    row->decided_ms = call->now_ms;
    snprintf(row->answer, sizeof row->answer, "%s", text_or_empty(answer));
    enum db_status status = budget_requests_decide(call->db, row);
    if (status == DB_NONE)
        status = DB_RETRY;
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(call, 200, request_json(call, row));
}

/* Reads what is given: all that was asked for, or less. */
static enum problem read_given(struct call *call, const struct budget_request_row *row,
                               struct grant *out, const char **out_answer)
{
    out->epsilon = row->epsilon;
    out->delta = row->delta;
    const struct field fields[] = {
        field_optional(field_positive("epsilon", &out->epsilon, GRANT_EPSILON_MAX)),
        field_optional(field_positive("delta", &out->delta, DELTA_MOST)),
        field_optional(field_text("reason", out_answer, 1, REASON_MAX)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields))
        return PROBLEM_VALIDATION;
    if (out->epsilon > row->epsilon)
        call_invalid(call, "/epsilon", "must be at most %.9g, which was asked for", row->epsilon);
    if (out->delta > row->delta)
        call_invalid(call, "/delta", "must be at most %.9g, which was asked for", row->delta);
    return call_checked(call);
}

/* What a client can spend now: by its account, or by the teacher's default, with which the first
 * question would open one. */
struct present {
    int64_t limit_units, limit_delta;
    double epsilon, delta;
};

static enum problem check_raises(struct call *call, const struct present *now,
                                 const struct grant *grant)
{
    if (grant->limits.limit_units >= now->limit_units &&
        grant->limits.limit_delta >= now->limit_delta)
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_CONFLICT,
                        "The limit is epsilon %.9g and delta %.9g by now. An approval only raises "
                        "it; putClientBudget lowers it.",
                        now->epsilon, now->delta);
}

/* Raises the limit of STANDING to GRANT. */
static enum problem raise_limit(struct call *call, const struct teacher_row *teacher,
                                struct teacher_client_row *standing, const struct grant *grant)
{
    struct ledger_account account;
    enum db_status status = teachers_client_account(call->db, standing, &account);
    if (status != DB_OK)
        return call_db(call, status);
    const struct present now = {account.limit_units, account.limit_delta, account.epsilon,
                                account.delta};
    enum problem problem = check_raises(call, &now, grant);
    if (problem != PROBLEM_NONE)
        return problem;
    return grant_change(call, teacher, standing, grant, &account);
}

/* Opens the account of the client of ROW with GRANT. */
static enum problem open_limit(struct call *call, const struct budget_request_row *row,
                               const struct teacher_row *teacher, const struct grant *asked)
{
    struct grant with = *asked, *grant = &with;
    struct filter fresh = {.limit_units = 0};
    struct ledger_account account;
    if (teacher->has_client_budget)
        (void)teacher_account(teacher, teacher->client_epsilon, teacher->client_delta, &fresh);
    const struct present now = {fresh.limit_units, fresh.limit_delta, teacher->client_epsilon,
                                teacher->client_delta};
    enum problem problem = check_raises(call, &now, grant);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = grant_default(call, teacher, grant);
    if (status != DB_OK)
        return call_db(call, status);
    if (!grant_check(call, teacher, grant))
        return PROBLEM_VALIDATION;
    return grant_open(call, teacher, row->client, grant, &account);
}

static enum problem give_limit(struct call *call, const struct budget_request_row *row,
                               const struct teacher_row *teacher, const struct grant *grant)
{
    struct teacher_client_row standing;
    enum db_status status = teachers_client_find(call->db, row->teacher, row->client, &standing);
    if (status == DB_NONE)
        return open_limit(call, row, teacher, grant);
    if (status != DB_OK)
        return call_db(call, status);
    return raise_limit(call, teacher, &standing, grant);
}

enum problem api_budget_requests_approve(struct call *call)
{
    struct budget_request_row row;
    struct teacher_row teacher;
    struct grant grant = {0};
    const char *answer = NULL;
    enum problem problem = open_request(call, &row);
    if (problem == PROBLEM_NONE)
        problem = read_given(call, &row, &grant, &answer);
    if (problem == PROBLEM_NONE)
        problem = call_db(call, db_owed(teachers_find(call->db, row.teacher, &teacher)));
    if (problem == PROBLEM_NONE)
        problem = teacher_check_open(call, row.teacher);
    if (problem == PROBLEM_NONE)
        problem = grant_find_client(call, row.client);
    if (problem == PROBLEM_NONE && !grant_check(call, &teacher, &grant))
        problem = PROBLEM_VALIDATION;
    if (problem != PROBLEM_NONE)
        return problem;
    grant.event = grant_event(call, answer ? answer : row.reason, row.id);
    problem = give_limit(call, &row, &teacher, &grant);
    if (problem != PROBLEM_NONE)
        return problem;
    row.given_epsilon = grant.epsilon;
    row.given_delta = grant.delta;
    return request_decide(call, &row, BUDGET_REQUEST_APPROVED, answer);
}

enum problem api_budget_requests_decline(struct call *call)
{
    struct budget_request_row row;
    const char *answer = NULL;
    const struct field fields[] = {field_text("reason", &answer, 1, REASON_MAX)};
    enum problem problem = open_request(call, &row);
    if (problem == PROBLEM_NONE && !fields_read(call, call->body, "", fields, 1))
        problem = PROBLEM_VALIDATION;
    if (problem != PROBLEM_NONE)
        return problem;
    return request_decide(call, &row, BUDGET_REQUEST_DECLINED, answer);
}
