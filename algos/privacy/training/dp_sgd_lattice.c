/* DP-SGD in whole numbers: the noise of a step, and what the draws' distance from the true law
 * costs.
 *
 * A step gives round(s + N(0, D^2)) on every coordinate, s the whole sum and D = noise_multiplier
 * DP_SGD_LATTICE_NORM: the Gaussian mechanism and then rounding, for the sensitivity
 * DP_SGD_LATTICE_NORM, which is a bound in whole numbers. So all that is known of sampled
 * Gaussians holds, were the draws of the true law. They are not quite: with N of them a run that is
 * (e, d)-private under the true law is, by noise_rounded_gaussian.h,
 *
 *   (e + 2 eta, e^eta d + 2 e^(e + eta) p)-private, eta = N D 2^-92, p = N 4e-33.
 *
 * A thousandth of delta is set aside for the term with p. Where that is too little (e above 30 or
 * so) the run is refused. */
#include <assert.h>
#include <math.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/noise/noise_rounded_gaussian.h"
#include "algos/privacy/training/dp_sgd_accounting.h"

#define SHARE_OF_DELTA 1e-3

static double draws_of(const struct dp_sgd_plan *plan)
{
    return (double)plan->rounded_draws * (double)plan->steps;
}

static double draw_stddev(const struct dp_sgd_plan *plan)
{
    return nextafter(plan->noise_multiplier * DP_SGD_LATTICE_NORM, INFINITY);
}

static double factor_of_cells(const struct dp_sgd_plan *plan)
{
    return draws_of(plan) * draw_stddev(plan) * ROUNDED_GAUSSIAN_ERROR;
}

struct dp_sgd_allowance dp_sgd_lattice_allowance(const struct dp_sgd_plan *plan)
{
    double eta = factor_of_cells(plan);
    return (struct dp_sgd_allowance){
        .delta_above = plan->delta * (1.0 - SHARE_OF_DELTA) * exp(-eta) * (1.0 - 1e-12),
        .delta_below = plan->delta * (1.0 + 2.0 * SHARE_OF_DELTA) * exp(eta),
        .epsilon = 2.0 * eta * (1.0 + 1e-12),
    };
}

struct composition_part dp_sgd_plan_rounding_price(const struct dp_sgd_plan *plan, uint64_t steps)
{
    struct composition_part price = {.times = 0};
    if (plan->rounded_draws == 0 || steps == 0)
        return price;
    struct dp_sgd_plan part = *plan;
    part.steps = steps;
    struct dp_sgd_allowance allowance = dp_sgd_lattice_allowance(&part);
    price.mechanism = (struct mechanism){
        .kind = MECHANISM_EPSILON_DELTA,
        .pair = {.epsilon = allowance.epsilon, .delta = SHARE_OF_DELTA * plan->delta}};
    price.times = 1;
    return price;
}

bool dp_sgd_lattice_fits(const struct dp_sgd_plan *plan, double epsilon)
{
    if (plan->rounded_draws == 0) /* below, 0 times an exp that overflows would be NaN */
        return true;
    double rare = draws_of(plan) * ROUNDED_GAUSSIAN_RARE;
    double paid = 2.0 * exp(epsilon + factor_of_cells(plan)) * rare;
    return paid <= SHARE_OF_DELTA * plan->delta * (1.0 - 1e-9); /* false for NaN */
}

bool dp_sgd_plan_lattice_has_noise(const struct dp_sgd_plan *plan)
{
    double stddev = draw_stddev(plan);
    return stddev >= ROUNDED_GAUSSIAN_LEAST && stddev <= ROUNDED_GAUSSIAN_MOST;
}

double dp_sgd_plan_epsilon_replaced(const struct dp_sgd_plan *plan)
{
    assert(plan->steps == 1 && plan->sampling_rate >= 1.0 && plan->before.times == 0);
    double mu = 2.0 / plan->noise_multiplier;
    if (plan->rounded_draws == 0)
        return gaussian_dp_epsilon_interval(mu, plan->delta).upper;
    struct dp_sgd_allowance allowance = dp_sgd_lattice_allowance(plan);
    double epsilon =
        gaussian_dp_epsilon_interval(mu, allowance.delta_above).upper + allowance.epsilon;
    return dp_sgd_lattice_fits(plan, epsilon) ? epsilon : (double)INFINITY;
}

double dp_sgd_plan_lattice_units(const struct dp_sgd_plan *plan)
{
    assert(plan->clip_norm > 0.0);
    return DP_SGD_LATTICE_NORM / plan->clip_norm;
}

void dp_sgd_plan_noise_lattice(const struct dp_sgd_plan *plan, struct noise_source *noise,
                               int64_t *sum, uint64_t count)
{
    assert(plan->rounded_draws >= count);
    rounded_gaussian_add(noise, draw_stddev(plan), sum, count);
}

void dp_sgd_plan_scale_lattice(const struct dp_sgd_plan *plan, const int64_t *sum, uint64_t count,
                               float *out)
{
    assert(plan->batch_size > 0);
    double step = 1.0 / dp_sgd_plan_lattice_units(plan) / (double)plan->batch_size;
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)((double)sum[i] * step);
}

void dp_sgd_plan_finish_lattice(const struct dp_sgd_plan *plan, struct noise_source *noise,
                                int64_t *sum, uint64_t count, float *out)
{
    dp_sgd_plan_noise_lattice(plan, noise, sum, count);
    dp_sgd_plan_scale_lattice(plan, sum, count, out);
}
