/* Finds the order, or the share of delta, at which an account lasts longest. Both are functions of
 * public parameters, computed once before the account is opened. Any choice is valid; a good one is
 * cheap. */
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/laws/renyi.h"
#include "algos/privacy/math/minimum.h"

#define ORDER_MAX 1e9
#define GRID      80 /* steps of the first look */
#define ZOOM      20 /* of the two that follow, each ten times finer */

/* The account and release for which an order is chosen. */
struct aim {
    const struct filter_release *release;
    double epsilon, delta, count;
};

/* The number of uses that an account of ORDER pays, as a real number; negative when not even 0
 * fits. */
static double uses_at(const struct aim *aim, double order)
{
    double budget = floor(renyi_budget(order, aim->epsilon, aim->delta) / FILTER_UNIT);
    double price = aim->release->renyi(aim->release->mechanism, order) / FILTER_UNIT;
    return budget / fmax(1.0, ceil(price));
}

/* The range of ln(order - 1). Where the sensitivity is tiny the limit of the order is huge, and the
 * best order is about ln(1/delta)/epsilon. */
static void range_of(const struct filter_release *release, double *least, double *greatest)
{
    double room = fmin(release->order_limit - 1.0, ORDER_MAX);
    *least = log(fmin(0.02 * room, 1e-3));
    *greatest = log(0.99 * room);
}

/* Searches a grid of ln(order - 1), then zooms in twice. */
static double order_search(const struct aim *aim)
{
    double least, greatest;
    range_of(aim->release, &least, &greatest);
    double best = -INFINITY, best_x = greatest, low = least, step = (greatest - least) / GRID;
    for (int zoom = 0; zoom < 3; zoom++) {
        for (int i = 0; i <= (zoom ? ZOOM : GRID); i++) {
            double x = fmin(greatest, low + step * i);
            double now = uses_at(aim, 1.0 + exp(x));
            if (now > best) {
                best = now;
                best_x = x;
            }
        }
        low = fmax(least, best_x - step);
        step /= 10.0;
    }
    return 1.0 + exp(best_x);
}

/* The divergence of a Gaussian so small that an account pays for many. */
static double small_gaussian(const void *mechanism, double order)
{
    (void)mechanism;
    return 1e-4 * order;
}

double filter_plan_order(double epsilon, double delta)
{
    const struct filter_release release = {.renyi = small_gaussian, .order_limit = INFINITY};
    const struct aim aim = {.release = &release, .epsilon = epsilon, .delta = delta};
    return order_search(&aim);
}

/* The epsilon of COUNT uses at DELTA, converted from Renyi DP at order 1 + exp(X). */
static double epsilon_of_order(const void *context, double x)
{
    const struct aim *aim = context;
    double order = 1.0 + exp(x);
    double rho = aim->count * aim->release->renyi(aim->release->mechanism, order);
    return renyi_to_epsilon(order, rho, aim->delta);
}

double filter_best_order(const struct filter_release *release, double epsilon, double delta,
                         int64_t *out_count)
{
    const struct aim aim = {.release = release, .epsilon = epsilon, .delta = delta};
    double order = release->order_limit > 1.0 ? order_search(&aim) : 2.0;
    struct filter account;
    struct filter_price price;
    bool pays =
        filter_open(&account, order, epsilon, delta) && filter_price(order, 0, release, 1, &price);
    if (out_count)
        *out_count = pays ? account.limit_units / price.units : 0;
    return order;
}

double filter_planned_epsilon(const struct filter_release *release, double count, double delta)
{
    assert(count >= 0.0 && delta > 0.0 && delta < 1.0);
    if (!(release->order_limit > 1.0))
        return INFINITY;
    const struct aim aim = {.release = release, .delta = delta, .count = count};
    double least, greatest, best;
    range_of(release, &least, &greatest);
    double start = fmin(greatest, fmax(least, log(1.0 - log(delta))));
    minimum_of(epsilon_of_order, &aim, start, least, greatest, 1e-5, &best);
    return best;
}

/* ---- shares of delta */

struct sharing {
    const struct filter_release *release;
    struct filter account;
};

/* The number of uses that an account pays when its delta is cut into N shares. It falls as N
 * grows. */
static int64_t uses_of_share(const struct sharing *sharing, int64_t n)
{
    struct filter_price price;
    int64_t share = sharing->account.limit_delta / n;
    if (share < 1 || !filter_price(0.0, share, sharing->release, 1, &price))
        return 0;
    return sharing->account.limit_units / price.units;
}

int64_t filter_best_share(const struct filter_release *release, double epsilon, double delta)
{
    struct sharing sharing = {.release = release};
    int64_t low = 1, high = 0;
    if (!filter_open(&sharing.account, 0.0, epsilon, delta))
        return 1;
    high = uses_of_share(&sharing, 1);
    if (high < 1)
        return sharing.account.limit_delta > 0 ? sharing.account.limit_delta : 1;
    /* n shares are used up when n <= uses_at(n). low is such an n, high is not below the greatest;
     * uses_at(high) is again below it, so both close in from their sides. */
    while (high - low > high / 2000) {
        int64_t better = uses_of_share(&sharing, high);
        low = better > low ? better : low;
        int64_t middle = low + (high - low + 1) / 2;
        int64_t there = uses_of_share(&sharing, middle);
        if (there >= middle)
            low = middle;
        else
            high = middle - 1;
        high = high > low ? high : low;
    }
    assert(low >= 1);
    return sharing.account.limit_delta / low;
}
