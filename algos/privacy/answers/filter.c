/* The account: limits down, prices up, sums exact. */
#include "algos/privacy/answers/filter.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/laws/renyi.h"

/* A number whose last bits are the errors of a computation, moved past them. */
#define MARGIN    1e-14
#define DELTA_ONE INT64_C(1000000000000000000) /* delta 1 */

static bool is_order(double order)
{
    return order > 1.0 && isfinite(order);
}

static int64_t whole_units(double amount)
{
    return amount >= (double)FILTER_UNITS_MAX ? FILTER_UNITS_MAX : (int64_t)amount;
}

bool filter_open(struct filter *out, double order, double epsilon, double delta)
{
    if (!(epsilon > 0.0 && isfinite(epsilon)) || !(delta > 0.0 && delta < 1.0))
        return false;
    if (order != 0.0 && !is_order(order))
        return false;
    *out = (struct filter){.order = order};
    if (order == 0.0) { /* declared decimals: the product is the integer that was meant */
        out->limit_units = whole_units(floor(epsilon * 1e9));
        out->limit_delta = whole_units(floor(delta * 1e18));
        return out->limit_units > 0;
    }
    double rho = renyi_budget(order, epsilon, delta);
    if (!(rho >= 0.0))
        return false;
    /* Its terms round, and may be far greater than their sum: epsilon and a logarithm below 40. */
    double sure = fmax(0.0, rho - MARGIN * (epsilon + 40.0));
    out->limit_units = whole_units(floor(sure * 1e9 * (1.0 - MARGIN)));
    return true;
}

bool filter_open_shared(struct filter *out, double order, double epsilon, double delta,
                        double delta_share)
{
    if (!(delta_share > 0.0 && delta_share < 1.0) || !(delta < 1.0))
        return false;
    return filter_open_aside(out, order, epsilon, delta,
                             whole_units(floor(delta * delta_share * 1e18)));
}

bool filter_open_aside(struct filter *out, double order, double epsilon, double delta,
                       int64_t aside_units)
{
    double aside = (double)aside_units;
    if (!is_order(order) || aside_units < 0 || !(delta < 1.0) || !(aside * 1e-18 < delta))
        return false;
    /* What is set aside and what is converted are together at most DELTA. */
    double rest = nextafter(delta - aside * 1e-18, 0.0) * (1.0 - MARGIN);
    if (!filter_open(out, order, epsilon, rest))
        return false;
    out->limit_delta = aside_units;
    return true;
}

/* AMOUNT in units of 1/SCALE, rounded up and at least 1; false when it is not countable. */
static bool units_up(double amount, double scale, int64_t *out)
{
    double units = ceil(amount * scale * (1.0 + MARGIN));
    if (!(units < (double)FILTER_UNITS_MAX))
        return false;
    *out = units < 1.0 ? 1 : (int64_t)units;
    return true;
}

static bool amount_times(int64_t *amount, int64_t count)
{
    return !__builtin_mul_overflow(*amount, count, amount) && *amount <= FILTER_UNITS_MAX;
}

static bool price_basic(int64_t share, const struct filter_release *release,
                        struct filter_price *out)
{
    double delta = (double)share * FILTER_DELTA_UNIT * (1.0 - MARGIN);
    out->delta_units = share;
    if (release->own_delta == 0.0) {
        out->delta_units = 0;
    } else if (release->own_delta > 0.0) {
        delta = release->own_delta;
        if (!units_up(delta, 1e18, &out->delta_units))
            return false;
    } else if (share <= 0 || share >= DELTA_ONE) {
        return false;
    }
    return units_up(release->epsilon(release->mechanism, delta), 1e9, &out->units);
}

bool filter_price(double order, int64_t share, const struct filter_release *release, int64_t count,
                  struct filter_price *out)
{
    struct filter_price price = {0};
    if (count < 1 || (order != 0.0 && !(is_order(order) && order < release->order_limit)))
        return false;
    bool good = order == 0.0
                    ? price_basic(share, release, &price)
                    : units_up(release->renyi(release->mechanism, order), 1e9, &price.units);
    if (!good || !amount_times(&price.units, count) || !amount_times(&price.delta_units, count))
        return false;
    *out = price;
    return true;
}

bool filter_spend(struct filter *filter, const struct filter_price *price)
{
    assert(price->units >= 0 && price->units <= FILTER_UNITS_MAX);
    assert(price->delta_units >= 0 && price->delta_units <= FILTER_UNITS_MAX);
    assert(filter->spent_units <= filter->limit_units);
    if (price->units > filter->limit_units - filter->spent_units ||
        price->delta_units > filter->limit_delta - filter->spent_delta)
        return false;
    filter->spent_units += price->units;
    filter->spent_delta += price->delta_units;
    return true;
}

double filter_epsilon(double order, int64_t units, double delta)
{
    if (order != 0.0 && (!is_order(order) || !(delta > 0.0 && delta < 1.0)))
        return INFINITY;
    if (units <= 0)
        return 0.0;
    double amount = (double)units / 1e9;
    return order == 0.0 ? amount : renyi_to_epsilon(order, amount, delta);
}
