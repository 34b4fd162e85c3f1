/* Price lists of the mechanisms that accounts pay for. A new mechanism is one more of them. */
#include <math.h>
#include <stddef.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/laws/gaussian_dp.h"

/* ---- Dirichlet */

static double dirichlet_renyi(const void *mechanism, double order)
{
    return dirichlet_answer_bound(mechanism, order);
}

static double dirichlet_epsilon(const void *mechanism, double delta)
{
    const struct filter_release release = filter_dirichlet(mechanism);
    return filter_planned_epsilon(&release, 1.0, delta);
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
