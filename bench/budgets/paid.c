#include "bench/budgets/paid.h"

#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_renyi.h"
#include "algos/privacy/answers/filter.h"
#include "bench/cpu_clock.h"

static uint64_t paid_by_adding(const struct mix *mix)
{
    double epsilon = 0, delta = 0;
    uint64_t n = 0;
    for (; n < MIX_JOBS; n++) {
        const struct budget_job *job = &mix->job[mix->order[n]];
        epsilon += job->epsilon;
        delta += job->delta;
        if (epsilon > mix->epsilon * (1 + 1e-9) || delta > mix->delta * (1 + 1e-9))
            break;
    }
    return n;
}

static uint64_t paid_by_renyi(const struct mix *mix, double *out_seconds)
{
    struct filter account;
    struct filter_price units[MIX_KINDS];
    const double order = filter_plan_order(mix->epsilon, mix->delta * (1 - PAID_SHARE));
    if (!filter_open_shared(&account, order, mix->epsilon, mix->delta, PAID_SHARE))
        return 0;
    for (unsigned k = 0; k < mix->kinds; k++) {
        struct renyi_price price;
        double start = cpu_seconds();
        if (!accountant_renyi_price(&mix->job[k].plan, order, &price))
            return 0;
        *out_seconds = fmax(*out_seconds, cpu_seconds() - start);
        units[k] = (struct filter_price){(int64_t)ceil(fmin(price.divergence, 1e9) / FILTER_UNIT),
                                         (int64_t)ceil(price.delta / FILTER_DELTA_UNIT)};
    }
    uint64_t n = 0;
    while (n < MIX_JOBS && filter_spend(&account, &units[mix->order[n]]))
        n++;
    return n;
}

/* Whether the first N jobs, fixed in advance, are together within the account's limit: by the
 * exact accountant's upper bound. */
static bool fits(const struct mix *mix, uint64_t n)
{
    uint64_t count[MIX_KINDS] = {0};
    struct composition all = {0};
    struct privacy_interval delta;
    for (uint64_t i = 0; i < n; i++)
        count[mix->order[i]]++;
    for (unsigned k = 0; k < mix->kinds; k++)
        for (size_t p = 0; count[k] > 0 && p < mix->job[k].plan.count; p++)
            composition_add(&all, &mix->job[k].plan.part[p].mechanism,
                            mix->job[k].plan.part[p].times * count[k]);
    bool good = n == 0 ||
                (accountant_delta(&accountant_exact, &all, mix->epsilon, &delta) == ACCOUNTANT_OK &&
                 delta.upper <= mix->delta);
    composition_clear(&all);
    return good;
}

static uint64_t paid_when_fixed(const struct mix *mix, uint64_t at_least)
{
    uint64_t low = at_least, high = at_least * 2 + 2;
    while (high < MIX_JOBS && fits(mix, high)) {
        low = high;
        high *= 2;
    }
    high = high < MIX_JOBS ? high : MIX_JOBS;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (fits(mix, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct paid paid_of(const struct mix *mix)
{
    struct paid paid = {.adding = paid_by_adding(mix)};
    paid.renyi = paid_by_renyi(mix, &paid.seconds);
    paid.fixed = paid_when_fixed(mix, paid.renyi > paid.adding ? paid.renyi : paid.adding);
    return paid;
}
