/* Changes of limits.
 *
 * DESIGN. A change names the limit that it changes (If-Match), so of two writers one is told. Where
 * two stewards are needed the first one's change waits, and changes nothing; the approval checks
 * everything again, because meanwhile more may be spent. It is one transaction with the entry, so a
 * crash leaves the change open or made. */
#include "api/books/limits.h"

#include <stdio.h>
#include <string.h>

#include "api/books/accounts.h"
#include "api/books/limit_set.h"
#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/names.h"
#include "api/call/page.h"
#include "api/call/revision.h"
#include "api/json/json_text.h"
#include "api/json/text.h"
#include "storage/limit_changes.h"

#define EPSILON_MAX 1e6
#define REASON_MAX  (LIMIT_REASON_SIZE - 1)

static enum problem no_such_change(struct call *call)
{
    return call_problem(call, PROBLEM_NOT_FOUND, "There is no such change of a limit.");
}

/* NULL: the database failed. */
static json_t *change_json(struct call *call, const struct limit_change_row *row)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:s, s:s, s:o, s:o, s:o, s:o}", "id", row->id, "account",
        row->account, "status", limit_change_state_name(row->state), "limit",
        budget_amount(row->epsilon, row->delta), "approvals", (json_int_t)row->approvals, "reason",
        row->reason, "proposed_by", row->proposer, "decided_by", json_text_or_null(row->decider),
        "answer", json_text_or_null(row->answer), "created_at", json_time(row->created_ms),
        "decided_at", json_time(row->decided_ms));
    if (names_add(call->db, json, "proposed_by_name", row->proposer) == DB_OK &&
        names_add(call->db, json, "decided_by_name", row->decider) == DB_OK)
        return json;
    json_decref(json);
    return NULL;
}

/* ---- proposing */

/* Reads the body into SET, whose account is found. What is not sent stays. */
static enum problem read_change(struct call *call, struct limit_set *set)
{
    json_t *limit = NULL;
    const struct field fields[] = {
        field_optional(field_object("limit", &limit)),
        field_optional(field_integer("approvals", &set->approvals, 1, LIMIT_APPROVALS_MAX)),
        field_text("reason", &set->reason, 1, REASON_MAX),
    };
    const struct field amounts[] = {
        field_positive("epsilon", &set->epsilon, EPSILON_MAX),
        field_positive("delta", &set->delta, 1),
    };
    set->epsilon = set->account.epsilon;
    set->delta = set->account.delta;
    bool good = fields_read(call, call->body, "", fields, sizeof fields / sizeof *fields);
    if (limit && fields_read(call, limit, "/limit", amounts, 2) && set->delta >= 1)
        call_invalid(call, "/limit/delta", "must be below 1");
    if (good && !limit && set->approvals == 0)
        call_invalid(call, "", "must have limit, approvals or both");
    return call_checked(call);
}

/* Stores the change until another steward decides. */
static enum problem store_proposal(struct call *call, const struct limit_set *set,
                                   int64_t approvals)
{
    struct limit_change_row row = {.revision = set->revision,
                                   .epsilon = set->epsilon,
                                   .delta = set->delta,
                                   .approvals = set->approvals > 0 ? set->approvals : approvals,
                                   .created_ms = call->now_ms};
    id_new("lch_", row.id);
    memcpy(row.account, set->account.id, ID_SIZE);
    memcpy(row.proposer, call->caller.id, ID_SIZE);
    snprintf(row.reason, sizeof row.reason, "%s", set->reason);
    enum db_status status = limit_changes_insert(call->db, &row);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_CONFLICT,
                            "A change of this limit waits already: GET "
                            "/v1/limit-changes?status=open.");
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/limit-changes/%s", row.id);
    return call_reply_json(call, 202, change_json(call, &row));
}

enum problem api_accounts_patch(struct call *call)
{
    struct limit_set set = {.proposer = call->caller.id};
    struct ledger_limits limits;
    int64_t approvals;
    enum problem problem = account_of_call(call, call_parameter(call, "id"), &set.account);
    if (problem == PROBLEM_NONE && !call_owns(call, set.account.owner))
        problem = call_problem(call, PROBLEM_NOT_FOUND, "There is no such account of yours.");
    if (problem == PROBLEM_NONE)
        problem = read_change(call, &set);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = db_owed(ledger_limits(call->db, set.account.id, &limits));
    if (status == DB_OK)
        status = limit_approvals(call->db, set.account.id, &approvals);
    if (status != DB_OK)
        return call_db(call, status);
    set.revision = limits.revision;
    problem = revision_check(call, "limit", set.revision);
    if (problem == PROBLEM_NONE)
        problem = limit_check(call, &set);
    if (problem != PROBLEM_NONE)
        return problem;
    if (approvals > 1)
        return store_proposal(call, &set, approvals);
    problem = limit_apply(call, &set, &set.account);
    if (problem != PROBLEM_NONE)
        return problem;
    return account_reply(call, &set.account, account_json(call, &set.account));
}

/* ---- seeing */

/* Finds the change {id} and its account, if the caller may know of them. */
static enum problem change_of_call(struct call *call, struct limit_change_row *out,
                                   struct ledger_account *account)
{
    enum db_status status = limit_changes_find(call->db, call_parameter(call, "id"), out);
    if (status == DB_NONE) { /* what is missing takes as long as what is another's */
        status = db_optional(ledger_find(call->db, "", account));
        if (status == DB_OK)
            return no_such_change(call);
    }
    if (status == DB_OK)
        status = db_owed(ledger_find(call->db, out->account, account));
    if (status == DB_OK && !call_is(call, ROLE_AUDITOR) && !call_owns(call, account->owner))
        return no_such_change(call);
    return call_db(call, status);
}

enum problem api_limit_changes_get(struct call *call)
{
    struct limit_change_row row;
    struct ledger_account account;
    enum problem problem = change_of_call(call, &row, &account);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, change_json(call, &row));
}

static bool list_change(void *context, const struct limit_change_row *row)
{
    struct page *page = context;
    return page_add(page, change_json(page->call, row), row->created_ms, row->id);
}

enum problem api_limit_changes_list(struct call *call)
{
    struct page page;
    enum limit_change_state state;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    const char *named = call_query(call, "status");
    if (named && !limit_change_state_find(named, &state))
        return call_invalid_query(call, "status", "must be open, approved or declined");
    return page_end(&page, limit_changes_list(call->db, page_owner(&page), named ? &state : NULL,
                                              &page.rows, list_change, &page));
}

/* ---- deciding */

static enum problem open_change(struct call *call, struct limit_change_row *out,
                                struct ledger_account *account)
{
    enum problem problem = change_of_call(call, out, account);
    if (problem == PROBLEM_NONE && out->state != LIMIT_CHANGE_OPEN)
        return call_problem(call, PROBLEM_CONFLICT, "The change has been decided: %s.",
                            limit_change_state_name(out->state));
    return problem;
}

static enum problem decide_change(struct call *call, struct limit_change_row *row,
                                  enum limit_change_state state, const char *answer)
{
    row->state = state;
    row->decided_ms = call->now_ms;
    memcpy(row->decider, call->caller.id, ID_SIZE);
    snprintf(row->answer, sizeof row->answer, "%s", text_or_empty(answer));
    enum db_status status = limit_changes_decide(call->db, row);
    if (status == DB_NONE)
        status = DB_RETRY;
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(call, 200, change_json(call, row));
}

enum problem api_limit_changes_approve(struct call *call)
{
    struct limit_change_row row;
    struct limit_set set = {.approver = call->caller.id};
    const char *answer = NULL;
    const struct field fields[] = {field_optional(field_text("reason", &answer, 1, REASON_MAX))};
    enum problem problem = open_change(call, &row, &set.account);
    if (problem == PROBLEM_NONE && strcmp(row.proposer, call->caller.id) == 0)
        problem = call_problem(call, PROBLEM_FORBIDDEN,
                               "You proposed this change, and two approvals by the same person are "
                               "one: another steward who owns the account has to approve it.");
    if (problem == PROBLEM_NONE && !fields_read(call, call->body, "", fields, 1))
        problem = PROBLEM_VALIDATION;
    if (problem != PROBLEM_NONE)
        return problem;
    set.revision = row.revision;
    set.epsilon = row.epsilon;
    set.delta = row.delta;
    set.approvals = row.approvals;
    set.reason = row.reason;
    set.proposer = row.proposer;
    set.change = row.id;
    problem = limit_check(call, &set);
    if (problem == PROBLEM_NONE)
        problem = limit_apply(call, &set, &set.account);
    if (problem != PROBLEM_NONE)
        return problem;
    return decide_change(call, &row, LIMIT_CHANGE_APPROVED, answer);
}

/* The proposer may decline too: that takes the proposal back. */
enum problem api_limit_changes_decline(struct call *call)
{
    struct limit_change_row row;
    struct ledger_account account;
    const char *answer = NULL;
    const struct field fields[] = {field_text("reason", &answer, 1, REASON_MAX)};
    enum problem problem = open_change(call, &row, &account);
    if (problem == PROBLEM_NONE && !fields_read(call, call->body, "", fields, 1))
        problem = PROBLEM_VALIDATION;
    if (problem != PROBLEM_NONE)
        return problem;
    return decide_change(call, &row, LIMIT_CHANGE_DECLINED, answer);
}
