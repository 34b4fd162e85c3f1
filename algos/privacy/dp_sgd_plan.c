/* Accounting of a plan, and the only batches and noise that a plan gives. */
#include "algos/privacy/dp_sgd_plan.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/dp_sgd_accounting.h"
#include "algos/privacy/pld_certify.h"
#include "algos/privacy/renyi.h"
#include "algos/privacy/subsampled_gaussian.h"

static bool between(double value, double low, double high)
{
    return value >= low && value <= high; /* false for NaN */
}

bool dp_sgd_accounting_valid(const struct dp_sgd_plan *plan)
{
    if (!plan->batch_size || plan->batch_size > plan->nominal_experts)
        return false;
    double rate = (double)plan->batch_size / (double)plan->nominal_experts;
    return between(plan->sampling_rate, rate * (1.0 - 1e-9), fmin(1.0, rate * (1.0 + 1e-9))) &&
           between(plan->noise_multiplier, DP_SGD_MIN_NOISE, DP_SGD_MAX_NOISE) &&
           between(plan->clip_norm, 1e-12, 1e12) && between(plan->delta, DP_SGD_MIN_DELTA, 0.5) &&
           plan->steps >= 1 && plan->steps <= DP_SGD_MAX_STEPS;
}

enum dp_sgd_plan_status dp_sgd_accounting_interval(const struct dp_sgd_plan *plan,
                                                   const struct pld_effort *effort,
                                                   struct privacy_interval *out)
{
    double n = (double)plan->steps;
    /* Mass beyond the tail is paid for in delta: at most 1e-10 of it, over all steps. */
    double tail = sqrt(2.0 * log(n / (1e-10 * plan->delta)));
    struct subsampled_gaussian step = {.sampling_rate = plan->sampling_rate,
                                       .noise_multiplier = plan->noise_multiplier,
                                       .tail = fmin(fmax(tail, 6.0), 37.0)};
    struct privacy_interval removed, added;
    struct pld_effort second = *effort;
    if (!pld_certify(subsampled_gaussian_outcomes, &step, plan->steps, plan->delta, effort,
                     &removed))
        return DP_SGD_PLAN_NO_MEMORY;
    step.add = true;
    second.irrelevant = removed.lower;
    if (!pld_certify(subsampled_gaussian_outcomes, &step, plan->steps, plan->delta, &second,
                     &added))
        return DP_SGD_PLAN_NO_MEMORY;
    out->upper = fmax(removed.upper, added.upper);
    out->lower = fmax(removed.lower, added.lower);
    return isfinite(out->upper) ? DP_SGD_PLAN_OK : DP_SGD_PLAN_INFEASIBLE;
}

/* Epsilon by the order 1 + exp(x); INFINITY where the curve overflows. */
static double renyi_epsilon_at(const struct dp_sgd_plan *plan, double x)
{
    double order = 1.0 + exp(x);
    double one = renyi_subsampled_gaussian(plan->sampling_rate, plan->noise_multiplier, order);
    return renyi_to_epsilon(order, (double)plan->steps * one, plan->delta);
}

/* The least over orders 1.03 .. 10^4, a grid and a closer look. Any order is valid; more is only
 * tighter. */
static double renyi_epsilon(const struct dp_sgd_plan *plan)
{
    const double least = -3.5, step = 0.32;
    double best = INFINITY, best_x = least;
    for (int i = 0; i <= 40; i++) {
        double now = renyi_epsilon_at(plan, least + step * i);
        if (now < best) {
            best = now;
            best_x = least + step * i;
        }
        if (!isfinite(now))
            break;
    }
    double center = best_x;
    for (int i = -8; i <= 8; i++)
        best = fmin(best, renyi_epsilon_at(plan, center + step * i / 9.0));
    return best;
}

enum dp_sgd_plan_status dp_sgd_plan_account(struct dp_sgd_plan *plan)
{
    if (!dp_sgd_accounting_valid(plan))
        return DP_SGD_PLAN_BAD;
    struct privacy_interval interval;
    enum dp_sgd_plan_status status =
        dp_sgd_accounting_interval(plan, &DP_SGD_CERTIFICATE, &interval);
    if (status != DP_SGD_PLAN_OK)
        return status;
    plan->epsilon = interval.upper;
    plan->epsilon_lower = interval.lower;
    plan->epsilon_renyi = renyi_epsilon(plan);
    return DP_SGD_PLAN_OK;
}

enum dp_sgd_plan_status dp_sgd_plan_epsilon_after(const struct dp_sgd_plan *plan, uint64_t steps,
                                                  double *out_epsilon)
{
    if (!dp_sgd_accounting_valid(plan) || steps > plan->steps)
        return DP_SGD_PLAN_BAD;
    if (steps == 0) {
        *out_epsilon = 0.0;
        return DP_SGD_PLAN_OK;
    }
    struct dp_sgd_plan part = *plan;
    struct privacy_interval interval;
    part.steps = steps;
    enum dp_sgd_plan_status status =
        dp_sgd_accounting_interval(&part, &DP_SGD_CERTIFICATE, &interval);
    if (status != DP_SGD_PLAN_OK)
        return status;
    /* Fewer steps never cost more, so the whole plan's figure is a bound as well. */
    bool accounted = plan->epsilon > 0.0 && isfinite(plan->epsilon);
    *out_epsilon = accounted ? fmin(interval.upper, plan->epsilon) : interval.upper;
    return DP_SGD_PLAN_OK;
}

uint32_t dp_sgd_plan_draw_batch(const struct dp_sgd_plan *plan, struct noise_source *noise,
                                uint32_t expert_count, uint32_t *chosen)
{
    return noise_poisson_sample(noise, plan->sampling_rate, expert_count, chosen);
}

void dp_sgd_plan_finish_sum(const struct dp_sgd_plan *plan, struct noise_source *noise, float *sum,
                            uint64_t count)
{
    assert(plan->batch_size > 0 && plan->noise_multiplier > 0.0 && plan->clip_norm > 0.0);
    /* Rounded up: the noise is never less than what was accounted. */
    float stddev = nextafterf((float)(plan->noise_multiplier * plan->clip_norm), INFINITY);
    noise_gaussian_add(noise, sum, count, stddev);
    float scale = 1.0f / (float)plan->batch_size;
    for (uint64_t i = 0; i < count; i++)
        sum[i] *= scale;
}
