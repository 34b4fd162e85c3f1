/* Lets what is left of a dataset's budget add up by Renyi divergence.
 *
 * DESIGN. The old account pays all that it has left, once, and a new account is opened with exactly
 * this amount: everything that the new account will ever pay for is one release of the old one. So
 * the old account's limit stays true by basic composition, and no amount is given back. */
#include <string.h>

#include "api/call/budget.h"
#include "api/call/refusal.h"
#include "api/data/dataset_budget.h"
#include "api/data/datasets.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"
#include "storage/limit_changes.h"

/* Finds the dataset's account, which must add epsilons and hold nothing. */
static enum problem compose_find(struct call *call, const struct dataset_row *row,
                                 struct ledger_account *out)
{
    if (row->account[0] == '\0')
        return call_problem(call, PROBLEM_NOT_FOUND,
                            "This dataset is public and was made without a budget.");
    enum db_status status = ledger_find(call->db, row->account, out);
    if (status != DB_OK)
        return call_db(call, status);
    if (out->renyi_order > 1)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The dataset's account adds Renyi divergences already.");
    if (out->held_units > 0 || out->held_delta > 0)
        return call_problem(call, PROBLEM_BUDGET_RESERVED,
                            "Jobs, or shares of clients, hold a part of the budget: wait for their "
                            "end, or end them.");
    if (out->spent_units >= out->limit_units || out->spent_delta >= out->limit_delta)
        return call_problem(call, PROBLEM_BUDGET_EXHAUSTED,
                            "Nothing is left of the budget, so there is nothing to convert.");
    return PROBLEM_NONE;
}

/* Spends all that is left of ACCOUNT, which is REST. */
static enum problem compose_spend(struct call *call, const struct ledger_account *account,
                                  const char *dataset, const struct dataset_budget *rest)
{
    json_t *event = json_pack("{s:s, s:o, s:o}", "type", "EpsilonDeltaDpEvent", "epsilon",
                              json_number(rest->epsilon), "delta", json_number(rest->delta));
    size_t size;
    char *text = json_text_write(event, false, &size);
    json_decref(event);
    const struct ledger_charge charge = {
        .prices = {{account->id, account->limit_units - account->spent_units,
                    account->limit_delta - account->spent_delta}},
        .count = 1,
        .client = call->caller.id,
        .resource = dataset,
        .event = text,
        .now_ms = call->now_ms};
    struct ledger_outcome outcome;
    enum db_status status = ledger_debit(call->db, &charge, &outcome);
    free(text);
    if (status != DB_OK)
        return call_db(call, status);
    if (outcome.verdict != LEDGER_OK)
        return refusal_make(call, &outcome, NULL);
    return PROBLEM_NONE;
}

enum problem api_datasets_compose(struct call *call)
{
    struct dataset_row row;
    struct ledger_account old, new;
    enum problem problem = dataset_of_call(call, &row);
    if (problem == PROBLEM_NONE)
        problem = compose_find(call, &row, &old);
    if (problem != PROBLEM_NONE)
        return problem;
    struct dataset_budget rest = {.epsilon = ledger_units_value(old.limit_units - old.spent_units),
                                  .delta = ledger_delta_value(old.limit_delta - old.spent_delta)};
    dataset_budget_read_renyi(call, call->body, &rest);
    if (call_error_count(call) > 0)
        return PROBLEM_VALIDATION;
    problem = compose_spend(call, &old, row.id, &rest);
    if (problem == PROBLEM_NONE)
        problem = dataset_budget_open(call, &rest, old.id, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    int64_t approvals;
    enum db_status status = datasets_set_account(call->db, row.id, row.account);
    if (status == DB_OK)
        status = limit_approvals(call->db, old.id, &approvals);
    if (status == DB_OK && approvals > 1)
        status = limit_approvals_set(call->db, row.account, approvals);
    if (status == DB_OK)
        status = ledger_find(call->db, row.account, &new);
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(call, 200, budget_json(&new));
}
