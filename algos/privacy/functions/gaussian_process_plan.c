/* From a declared class to the noise that hides one expert in it. */
#include "algos/privacy/functions/gaussian_process_plan.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "algos/privacy/functions/gaussian_path_axis.h"
#include "algos/privacy/laws/gaussian_dp.h"

#define HALF_ULP 0x1p-53
#define UP       (1.0 + 1e-14) /* pays for the dozen roundings of a formula */

static const char *problem_of(const struct gaussian_process_plan *plan)
{
    if (!(plan->value_limit >= 1e-9 && plan->value_limit <= 1e9))
        return "value_limit must be from 1e-9 to 1e9";
    if (!(plan->lipschitz / plan->value_limit >= 1e-6 &&
          plan->lipschitz / plan->value_limit <= 1e6))
        return "lipschitz must be from 1e-6 to 1e6 times value_limit";
    if (plan->shards < 1 || plan->shards > 1000000)
        return "shards must be from 1 to 1000000";
    if (plan->actions < 1 || plan->actions > 4096)
        return "actions must be from 1 to 4096";
    if (plan->bits < 1 || plan->bits > GAUSSIAN_PATH_MAX_BITS)
        return "bits must be from 1 to 24";
    if (!(plan->evaluation_error >= 0.0 && plan->evaluation_error <= plan->value_limit))
        return "evaluation_error must be from 0 to value_limit";
    if (!(plan->epsilon >= 1e-6 && plan->epsilon <= 1000.0))
        return "epsilon must be from 1e-6 to 1000";
    if (!(plan->delta >= 1e-30 && plan->delta <= 0.5))
        return "delta must be from 1e-30 to 0.5";
    return NULL;
}

double gaussian_process_class_norm_squared(double beta, double amplitude, double slope)
{
    assert(beta > 0.0 && amplitude >= 0.0 && slope >= 0.0);
    return amplitude * amplitude * (1.0 + 0.5 * beta) + slope * slope / (2.0 * beta);
}

double gaussian_process_rounding(double beta, uint32_t bits, double error)
{
    assert(beta > 0.0 && bits <= GAUSSIAN_PATH_MAX_BITS && error >= 0.0);
    double points = ldexp(1.0, (int)bits) + 1.0;
    return error * sqrt(points / tanh(ldexp(beta, -(int)bits - 1))) * UP;
}

const char *gaussian_process_plan_complete(struct gaussian_process_plan *plan)
{
    const char *problem = problem_of(plan);
    if (problem)
        return problem;
    double shards = plan->shards, actions = plan->actions, root = sqrt(actions);
    double amplitude = 2.0 * plan->value_limit / shards, slope = 2.0 * plan->lipschitz / shards;
    plan->beta = plan->lipschitz / plan->value_limit / (plan->joint ? root : 1.0);
    double square =
        plan->joint ? gaussian_process_class_norm_squared(plan->beta, root * amplitude, slope)
                    : actions * gaussian_process_class_norm_squared(plan->beta, amplitude, slope);
    /* One shard's error changes; and the mean of M doubles is off by gamma(M + 1) times the mean of
     * their sizes, in either world. */
    double of_mean = HALF_ULP * (shards + 1.0) * plan->value_limit * root;
    double error = 2.0 * plan->evaluation_error / shards + 2.0 * of_mean;
    plan->rounding = gaussian_process_rounding(plan->beta, plan->bits, error * UP);
    plan->sensitivity = (sqrt(square) + plan->rounding) * UP;
    plan->sigma = gaussian_dp_sigma(plan->sensitivity, plan->epsilon, plan->delta);
    plan->mu = plan->sensitivity / plan->sigma * UP;
    plan->noise_to_range = plan->sigma / plan->value_limit;
    return NULL;
}
