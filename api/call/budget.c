/* Budgets in epsilon. */
#include "api/call/budget.h"

#include <math.h>

#include "algos/privacy/answers/filter.h"
#include "api/call/call.h"
#include "api/json/json_text.h"

static bool is_renyi(const struct ledger_account *account)
{
    return account->renyi_order > 1;
}

/* The delta that the conversion to epsilon uses: what is not set aside for releases that have a
 * delta of their own. */
static double converting_delta(const struct ledger_account *account)
{
    return account->delta - ledger_delta_value(account->limit_delta);
}

double budget_epsilon(const struct ledger_account *account, int64_t units)
{
    if (!is_renyi(account))
        return filter_epsilon(0, units, account->delta);
    return filter_epsilon(account->renyi_order, units, converting_delta(account));
}

double budget_epsilon_added(const struct ledger_account *account, int64_t before, int64_t units)
{
    return fmax(0, budget_epsilon(account, before + units) - budget_epsilon(account, before));
}

json_t *budget_amount(double epsilon, double delta)
{
    return json_pack("{s:o, s:o}", "epsilon", json_number(epsilon), "delta", json_number(delta));
}

/* The delta of UNITS and DELTA_UNITS that are spent, held or requested. */
static double delta_of(const struct ledger_account *account, int64_t units, int64_t delta_units)
{
    double own = ledger_delta_value(delta_units);
    if (is_renyi(account) && units > 0)
        return converting_delta(account) + own;
    return own;
}

struct budget_sum budget_spent_sum(const struct ledger_account *account)
{
    return (struct budget_sum){
        .epsilon = budget_epsilon(account, account->spent_units),
        .delta = delta_of(account, account->spent_units, account->spent_delta),
    };
}

json_t *budget_spent(const struct ledger_account *account)
{
    struct budget_sum sum = budget_spent_sum(account);
    return budget_amount(sum.epsilon, sum.delta);
}

static json_t *budget_reserved(const struct ledger_account *account)
{
    return budget_amount(budget_epsilon_added(account, account->spent_units, account->held_units),
                         delta_of(account, account->held_units, account->held_delta));
}

static double remaining_epsilon(const struct ledger_account *account)
{
    int64_t used = account->spent_units + account->held_units;
    /* A basic account subtracts integers, so that 10 - 9.9 is 0.1. */
    double epsilon = is_renyi(account) ? account->epsilon - budget_epsilon(account, used)
                                       : budget_epsilon(account, account->limit_units - used);
    return fmax(0, epsilon);
}

static double remaining_delta(const struct ledger_account *account)
{
    int64_t left = account->limit_delta - account->spent_delta - account->held_delta;
    return fmax(0, delta_of(account, account->limit_units, left));
}

struct budget_sum budget_remaining_sum(const struct ledger_account *account)
{
    return (struct budget_sum){.epsilon = remaining_epsilon(account),
                               .delta = remaining_delta(account)};
}

json_t *budget_remaining(const struct ledger_account *account)
{
    struct budget_sum sum = budget_remaining_sum(account);
    return budget_amount(sum.epsilon, sum.delta);
}

static json_t *budget_limit(const struct ledger_account *account)
{
    return budget_amount(account->epsilon, account->delta);
}

json_t *budget_json(const struct ledger_account *account)
{
    json_t *budget =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "account", account->id, "unit",
                  account->unit, "limit", budget_limit(account), "spent", budget_spent(account),
                  "reserved", budget_reserved(account), "remaining", budget_remaining(account),
                  "accounting", is_renyi(account) ? "renyi" : "basic");
    if (is_renyi(account))
        json_object_set_new(budget, "order", json_number(account->renyi_order));
    return budget;
}

static void add_violation(struct call *call, const struct ledger_part *part)
{
    const struct ledger_account *account = &part->account;
    int64_t used = account->spent_units + account->held_units;
    double more = budget_epsilon_added(account, used, part->requested_units);
    double delta = delta_of(account, part->requested_units, part->requested_delta);
    call_violated(call,
                  json_pack("{s:s, s:o, s:o, s:o, s:o}", "account", account->id, "limit",
                            budget_limit(account), "spent", budget_spent(account), "reserved",
                            budget_reserved(account), "requested", budget_amount(more, delta)));
}

/* Makes the refusal with one sentence about the first account that cannot pay: what it has left and
 * what was requested. */
static enum problem say_exhausted(struct call *call, const struct ledger_outcome *outcome)
{
    for (unsigned i = 0; i < outcome->count; i++) {
        const struct ledger_part *part = &outcome->parts[i];
        const struct ledger_account *account = &part->account;
        if (part->violated) {
            int64_t used = account->spent_units + account->held_units;
            return call_problem(
                call, PROBLEM_BUDGET_EXHAUSTED,
                "The account %s has epsilon %.6g and delta %.6g left; this would cost epsilon "
                "%.6g and delta %.6g. Nothing was charged.",
                account->id, remaining_epsilon(account), remaining_delta(account),
                budget_epsilon_added(account, used, part->requested_units),
                delta_of(account, part->requested_units, part->requested_delta));
        }
    }
    return call_problem(call, PROBLEM_BUDGET_EXHAUSTED,
                        "The budget cannot pay. Nothing was charged.");
}

enum problem budget_refused(struct call *call, const struct ledger_outcome *outcome)
{
    for (unsigned i = 0; i < outcome->count; i++)
        if (outcome->parts[i].violated)
            add_violation(call, &outcome->parts[i]);
    switch (outcome->verdict) {
    case LEDGER_EXHAUSTED: return say_exhausted(call, outcome);
    case LEDGER_RESERVED:
        return call_problem(call, PROBLEM_BUDGET_RESERVED,
                            "Jobs hold the budget that the accounts listed in violated would need. "
                            "Nothing was charged.");
    case LEDGER_NO_ACCOUNT:
        return call_problem(call, PROBLEM_NO_BUDGET, "There is no account that could pay.");
    case LEDGER_TOO_LOW:
        return call_problem(call, PROBLEM_CONFLICT,
                            "The limit cannot be below what is spent and reserved.");
    case LEDGER_NO_HOLD:
    case LEDGER_HOLD_TAKEN:
    case LEDGER_OVER_HOLD:
        return call_problem(call, PROBLEM_CONFLICT, "What was reserved has been settled already.");
    case LEDGER_OK: break;
    }
    return call_problem(call, PROBLEM_INTERNAL_ERROR, "The ledger gave no verdict.");
}
