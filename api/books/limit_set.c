/* Checks and sets a limit.
 *
 * DESIGN. A limit is converted at the account's own order, which never changes, and what is set
 * aside keeps its part of delta (docs/proofs/budgets.md). The reason, the proposal and the second
 * steward stand in the event of the entry, so the hash covers them. */
#include "api/books/limit_set.h"

#include <stdlib.h>
#include <string.h>

#include "api/call/budget.h"
#include "api/call/refusal.h"
#include "api/json/json_text.h"
#include "storage/endings.h"
#include "storage/limit_changes.h"
#include "storage/teachers.h"

/* A teacher that was made before limits could change has a certificate that states its cap for
 * ever. */
static enum problem check_promise(struct call *call, const struct limit_set *set)
{
    char certificate[ID_SIZE], owner[ID_SIZE], *text = NULL;
    const struct ledger_account *account = &set->account;
    if (account->kind != LEDGER_TEACHER ||
        (set->epsilon <= account->epsilon && set->delta <= account->delta))
        return PROBLEM_NONE;
    enum db_status status =
        teachers_certificate(call->db, account->resource, certificate, owner, &text);
    bool promised = status == DB_OK && !strstr(text, "\"limit_may_change\"");
    free(text);
    if (promised)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The teacher's certificate %s was issued before limits could be raised "
                            "and states its limit for all answers to come. Make another teacher.",
                            certificate);
    return call_db(call, db_optional(status));
}

static enum problem check_kind(struct call *call, const struct limit_set *set)
{
    const struct ledger_account *account = &set->account;
    struct ledger_account next;
    struct ending ending;
    if (account->kind == LEDGER_SHARE)
        return call_problem(call, PROBLEM_CONFLICT,
                            "A share is changed with the budget of its client: PUT "
                            "/v1/teachers/{id}/budgets/%s.",
                            account->client);
    if (account->kind == LEDGER_CLIENT && strncmp(account->resource, "tch_", 4) != 0)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The limit of an agent is that of its aggregation, and stays.");
    if (account->kind == LEDGER_CLIENT && set->approvals > 1)
        return call_invalid(call, "/approvals",
                            "must be 1: only accounts of teachers and datasets can need 2");
    enum db_status status = endings_find(call->db, account->resource, &ending);
    if (status == DB_OK)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The teacher was closed, and its limit is what was spent.");
    if (account->kind != LEDGER_DATASET || status != DB_NONE)
        return call_db(call, db_optional(status));
    status = ledger_find_for(call->db, LEDGER_DATASET, account->id, NULL, &next);
    if (status == DB_OK)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The account was converted: change the limit of %s, which pays now.",
                            next.id);
    return call_db(call, db_optional(status));
}

/* Refuses a limit below what is spent and held, and says which would do. */
static enum problem check_spent(struct call *call, const struct limit_set *set)
{
    const struct ledger_account *a = &set->account;
    if (set->limit_units >= a->spent_units + a->held_units &&
        set->limit_delta >= a->spent_delta + a->held_delta)
        return PROBLEM_NONE;
    struct budget_sum least = budget_least_limit(a, set->delta);
    refusal_least(call, least.epsilon, least.delta);
    return call_problem(call, PROBLEM_CONFLICT,
                        "The limit cannot be below what is spent and reserved.");
}

enum problem limit_check(struct call *call, struct limit_set *set)
{
    struct ledger_limits limits;
    enum problem problem = check_kind(call, set);
    if (problem == PROBLEM_NONE)
        problem = call_db(call, ledger_limits(call->db, set->account.id, &limits));
    if (problem != PROBLEM_NONE)
        return problem;
    const struct budget_split split = {limits.first_delta, limits.first_limit_delta};
    if (!budget_limit_units(&set->account, split, set->epsilon, set->delta, &set->limit_units,
                            &set->limit_delta)) {
        struct budget_sum least = budget_least_limit(&set->account, set->delta);
        refusal_least(call, least.epsilon, least.delta);
        return call_invalid(call, "/limit/epsilon",
                            "can pay nothing at this delta, or is too large to be counted");
    }
    problem = check_spent(call, set);
    return problem == PROBLEM_NONE ? check_promise(call, set) : problem;
}

static void add_text(json_t *event, const char *name, const char *text)
{
    if (text)
        json_object_set_new(event, name, json_string(text));
}

static char *limit_event(const struct limit_set *set)
{
    size_t size;
    json_t *event = json_pack("{s:s, s:s}", "type", "NoOpDpEvent", "reason", set->reason);
    if (set->approvals > 0)
        json_object_set_new(event, "approvals", json_integer(set->approvals));
    add_text(event, "change", set->change);
    add_text(event, "approved_by", set->approver);
    char *text = json_text_write(event, false, &size);
    json_decref(event);
    return text;
}

enum problem limit_apply(struct call *call, const struct limit_set *set, struct ledger_account *out)
{
    char *event = limit_event(set);
    const struct ledger_limit limit = {.account = set->account.id,
                                       .revision = set->revision,
                                       .epsilon = set->epsilon,
                                       .delta = set->delta,
                                       .limit_units = set->limit_units,
                                       .limit_delta = set->limit_delta,
                                       .client = set->proposer,
                                       .event = event,
                                       .now_ms = call->now_ms};
    struct ledger_outcome outcome = {.verdict = LEDGER_OK};
    enum db_status status = ledger_set_limit(call->db, &limit, &outcome.verdict, out);
    free(event);
    if (status == DB_OK && outcome.verdict == LEDGER_OK && set->approvals > 0)
        status = limit_approvals_set(call->db, set->account.id, set->approvals);
    if (status != DB_OK || outcome.verdict == LEDGER_OK)
        return call_db(call, status);
    return refusal_make(call, &outcome, NULL);
}
