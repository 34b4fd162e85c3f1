/* Price lists of the mechanisms that accounts pay for. A new mechanism is one more of them. */
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/laws/gaussian_dp.h"

/* ---- Dirichlet */

static double dirichlet_renyi(const void *mechanism, double order)
{
    return dirichlet_renyi_bound(mechanism, order);
}

static double dirichlet_epsilon(const void *mechanism, double delta)
{
    const struct filter_release release = filter_dirichlet(mechanism);
    return filter_planned_epsilon(&release, 1.0, delta, NULL);
}

struct filter_release filter_dirichlet(const struct dirichlet *mechanism)
{
    return (struct filter_release){.mechanism = mechanism,
                                   .renyi = dirichlet_renyi,
                                   .epsilon = dirichlet_epsilon,
                                   .order_limit = dirichlet_order_limit(mechanism),
                                   .own_delta = -1.0};
}

/* ---- Gaussian on the simplex */

static double gaussian_renyi(const void *mechanism, double order)
{
    return gaussian_simplex_renyi_bound(mechanism, order);
}

static double gaussian_epsilon(const void *mechanism, double delta)
{
    return gaussian_dp_epsilon_interval(gaussian_simplex_mu(mechanism), delta).upper;
}

struct filter_release filter_gaussian_simplex(const struct gaussian_simplex *mechanism)
{
    return (struct filter_release){.mechanism = mechanism,
                                   .renyi = gaussian_renyi,
                                   .epsilon = gaussian_epsilon,
                                   .order_limit = INFINITY,
                                   .own_delta = -1.0};
}

/* ---- (epsilon, delta) */

/* ln cosh(x) without overflow, and without cancellation near 0. */
static double log_cosh(double x)
{
    double half = sinh(0.5 * x);
    return fabs(x) < 1.0 ? log1p(2.0 * half * half) : fabs(x) - M_LN2 + log1p(exp(-2.0 * fabs(x)));
}

/* Randomised response with e^epsilon against 1: ln[cosh((l - 1/2) epsilon) / cosh(epsilon / 2)] /
 * (l - 1). */
static double pair_renyi(const void *mechanism, double order)
{
    const struct filter_pair *pair = mechanism;
    if (pair->delta > 0.0)
        return INFINITY;
    double gap = log_cosh((order - 0.5) * pair->epsilon) - log_cosh(0.5 * pair->epsilon);
    double rounding = 1e-15 * order * pair->epsilon;
    return fmin(pair->epsilon, (gap + rounding) / (order - 1.0) * (1.0 + 1e-13));
}

static double pair_epsilon(const void *mechanism, double delta)
{
    const struct filter_pair *pair = mechanism;
    return delta >= pair->delta ? pair->epsilon : INFINITY;
}

struct filter_release filter_epsilon_delta(const struct filter_pair *pair)
{
    assert(pair->epsilon >= 0.0 && pair->delta >= 0.0 && pair->delta < 1.0);
    return (struct filter_release){.mechanism = pair,
                                   .renyi = pair_renyi,
                                   .epsilon = pair_epsilon,
                                   .order_limit = pair->delta > 0.0 ? 1.0 : INFINITY,
                                   .own_delta = pair->delta};
}
