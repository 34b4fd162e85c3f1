/* Budgets in epsilon. */
#include "api/call/budget.h"

#include <math.h>

#include "algos/privacy/answers/filter.h"
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
    if (!is_renyi(account)) /* integers add up, so that no difference of roundings is shown */
        return budget_epsilon(account, units);
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

struct budget_sum budget_added_sum(const struct ledger_account *account, int64_t units,
                                   int64_t delta_units)
{
    int64_t used = account->spent_units + account->held_units;
    return (struct budget_sum){.epsilon = budget_epsilon_added(account, used, units),
                               .delta = delta_of(account, units, delta_units)};
}

/* X rounded up to seven digits. */
static double round_up(double x)
{
    if (!(x > 0))
        return x;
    double scale = pow(10, 6 - floor(log10(x)));
    return ceil(x * scale) / scale;
}

struct budget_sum budget_least(double order, int64_t units, int64_t delta_units, double delta)
{
    struct budget_sum least = {.epsilon = round_up(filter_epsilon(order, units, delta)),
                               .delta = fmax(delta, round_up(ledger_delta_value(delta_units)))};
    struct filter filter;
    for (int i = 0; i < 10; i++) { /* the limit of that epsilon may be rounded below UNITS */
        if (filter_open(&filter, order, least.epsilon, least.delta) && filter.limit_units >= units)
            break;
        least.epsilon = round_up(fmax(least.epsilon, 1e-9) * (1 + 1e-6));
    }
    return least;
}

/* What a limit of DELTA sets aside. */
static int64_t aside_of(struct budget_split split, double delta)
{
    if (delta == split.delta)
        return split.aside;
    return (int64_t)floor((double)split.aside * (delta / split.delta));
}

static struct budget_split split_now(const struct ledger_account *account)
{
    return (struct budget_split){account->delta, account->limit_delta};
}

bool budget_limit_units(const struct ledger_account *account, struct budget_split split,
                        double epsilon, double delta, int64_t *out_units, int64_t *out_delta)
{
    struct filter filter = {.limit_units = 0};
    bool good = epsilon > 0 && delta > 0 && delta < 1;
    if (good && !is_renyi(account))
        good = ledger_units_down(epsilon, &filter.limit_units) &&
               ledger_delta_down(delta, &filter.limit_delta);
    else if (good && split.aside > 0)
        good =
            aside_of(split, delta) > 0 && filter_open_aside(&filter, account->renyi_order, epsilon,
                                                            delta, aside_of(split, delta));
    else if (good)
        good = filter_open(&filter, account->renyi_order, epsilon, delta);
    if (!good || filter.limit_units < 1)
        return false;
    *out_units = filter.limit_units;
    *out_delta = filter.limit_delta;
    return true;
}

/* The least limit of an account that sets a part of delta aside. */
static struct budget_sum least_beside_aside(const struct ledger_account *account, int64_t units,
                                            int64_t delta_units, double delta)
{
    struct budget_split split = split_now(account);
    double part = (double)delta_units / (double)account->limit_delta;
    struct budget_sum least = {.delta = fmax(delta, round_up(account->delta * part))};
    double converts = least.delta - ledger_delta_value(aside_of(split, least.delta));
    least.epsilon = round_up(filter_epsilon(account->renyi_order, units, converts));
    for (int i = 0; i < 10; i++) { /* both may be rounded below what is needed */
        int64_t has = 0, has_delta = 0;
        bool good =
            budget_limit_units(account, split, least.epsilon, least.delta, &has, &has_delta);
        if (good && has >= units && has_delta >= delta_units)
            break;
        if (good && has_delta < delta_units)
            least.delta = round_up(least.delta * (1 + 1e-6));
        if (!good || has < units)
            least.epsilon = round_up(fmax(least.epsilon, 1e-9) * (1 + 1e-6));
    }
    return least;
}

static struct budget_sum least_limit(const struct ledger_account *account, int64_t units,
                                     int64_t delta_units, double delta)
{
    if (units < 1)
        units = 1;
    if (is_renyi(account) && account->limit_delta > 0)
        return least_beside_aside(account, units, delta_units, delta);
    return budget_least(account->renyi_order, units, delta_units, delta);
}

struct budget_sum budget_least_limit(const struct ledger_account *account, double delta)
{
    return least_limit(account, account->spent_units + account->held_units,
                       account->spent_delta + account->held_delta, delta);
}

struct budget_sum budget_limit_for(const struct ledger_account *account, int64_t units,
                                   int64_t delta_units)
{
    struct budget_sum least =
        least_limit(account, account->spent_units + account->held_units + units,
                    account->spent_delta + account->held_delta + delta_units, account->delta);
    least.epsilon = fmax(least.epsilon, account->epsilon);
    return least;
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

json_t *budget_burnt(const struct ledger_account *account, int64_t units, int64_t delta_units)
{
    int64_t paid = account->spent_units - units;
    double delta =
        paid > 0 ? ledger_delta_value(delta_units) : delta_of(account, units, delta_units);
    return budget_amount(budget_epsilon_added(account, paid, units), delta);
}

json_t *budget_reserved(const struct ledger_account *account)
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
