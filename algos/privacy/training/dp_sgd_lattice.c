/* DP-SGD in whole numbers: the noise of a step, and what the table's distance from the true law
 * costs.
 *
 * A step gives round(s + N(0, 4096^2)) on every coordinate, s the whole sum: the Gaussian mechanism
 * and then rounding, for a sensitivity of at most 4096 / noise_multiplier. So all that is known of
 * sampled Gaussians holds, were the draws of the true law. They are not quite: with N of them a run
 * that is (e, d)-private under the true law is, by noise_rounded_gaussian.h,
 *
 *   (e + 2 eta, e^eta d + 2 e^(e + eta) p)-private, eta = N 2^-59 + 2^-33,
 *   p = (2e-17 N)^2 / 2 + 9e-26 N.
 *
 * A thousandth of delta is set aside for the term with p. Where that is too little (e above 15 or
 * so) the run is refused. */
#include <assert.h>
#include <math.h>

#include "algos/privacy/training/dp_sgd_accounting.h"

#define SHARE_OF_DELTA 1e-3

static double draws_of(const struct dp_sgd_plan *plan)
{
    return (double)plan->rounded_draws * (double)plan->steps;
}

static double factor_of_cells(double draws)
{
    return draws * 0x1p-59 + 0x1p-33;
}

struct dp_sgd_allowance dp_sgd_lattice_allowance(const struct dp_sgd_plan *plan)
{
    double eta = factor_of_cells(draws_of(plan));
    return (struct dp_sgd_allowance){
        .delta_above = plan->delta * (1.0 - SHARE_OF_DELTA) * exp(-eta) * (1.0 - 1e-12),
        .delta_below = plan->delta * (1.0 + 2.0 * SHARE_OF_DELTA) * exp(eta),
        .epsilon = 2.0 * eta * (1.0 + 1e-12),
    };
}

struct composition_part dp_sgd_plan_table_price(const struct dp_sgd_plan *plan, uint64_t steps)
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
    double draws = draws_of(plan);
    double rare = 0.5 * (2e-17 * draws) * (2e-17 * draws) + 9e-26 * draws;
    double paid = 2.0 * exp(epsilon + factor_of_cells(draws)) * rare;
    return paid <= SHARE_OF_DELTA * plan->delta * (1.0 - 1e-9); /* false for NaN */
}

float dp_sgd_plan_lattice_scale(const struct dp_sgd_plan *plan)
{
    assert(plan->noise_multiplier > 0.0 && plan->clip_norm > 0.0);
    double scale = ROUNDED_GAUSSIAN_SIGMA / plan->noise_multiplier / plan->clip_norm;
    return nextafterf((float)scale, 0.0F); /* below it: the noise is never less than accounted */
}

void dp_sgd_plan_finish_lattice(const struct dp_sgd_plan *plan,
                                const struct rounded_gaussian *table, struct noise_source *noise,
                                int64_t *sum, uint64_t count, float *out)
{
    assert(plan->batch_size > 0 && plan->rounded_draws == count);
    rounded_gaussian_add(table, noise, sum, count);
    double step = 1.0 / (double)dp_sgd_plan_lattice_scale(plan) / (double)plan->batch_size;
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)((double)sum[i] * step);
}
