/* Accounting of a plan, and the only batches and noise that a plan gives. */
#include "algos/privacy/training/dp_sgd_plan.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/training/dp_sgd_accounting.h"

static bool is_between(double value, double low, double high)
{
    return value >= low && value <= high; /* false for NaN */
}

bool dp_sgd_accounting_valid(const struct dp_sgd_plan *plan)
{
    if (!plan->batch_size || plan->batch_size > plan->nominal_experts)
        return false;
    bool released = plan->before.times > 0;
    if (released && mechanism_problem(&plan->before.mechanism))
        return false;
    double rate = (double)plan->batch_size / (double)plan->nominal_experts;
    return is_between(plan->sampling_rate, rate * (1.0 - 1e-9), fmin(1.0, rate * (1.0 + 1e-9))) &&
           (is_between(plan->noise_multiplier, DP_SGD_MIN_NOISE, DP_SGD_MAX_NOISE) ||
            (released && plan->steps == 0)) &&
           is_between(plan->clip_norm, 1e-12, 1e12) &&
           is_between(plan->delta, DP_SGD_MIN_DELTA, 0.5) && plan->steps >= !released &&
           plan->steps <= DP_SGD_MAX_STEPS;
}

/* What was before, and the steps; PARTS has room for both and is not to be cleared. */
static struct composition run_of(const struct dp_sgd_plan *plan, struct composition_part *parts)
{
    struct composition run = {.part = parts, .capacity = 2};
    struct mechanism step = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                             .gaussian = {plan->sampling_rate, plan->noise_multiplier}};
    if (plan->before.times > 0)
        parts[run.count++] = plan->before;
    if (plan->steps > 0)
        parts[run.count++] = (struct composition_part){.mechanism = step, .times = plan->steps};
    return run;
}

/* Whether every part is a Gaussian that nothing is sampled for: they have a closed form. */
static bool all_plain(const struct composition *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct mechanism *mechanism = &run->part[i].mechanism;
        if (mechanism->kind != MECHANISM_SUBSAMPLED_GAUSSIAN ||
            mechanism->gaussian.sampling_rate != 1.0)
            return false;
    }
    return true;
}

static enum dp_sgd_plan_status figure_at(const struct composition *run, double delta,
                                         const struct pld_effort *effort,
                                         struct privacy_interval *out)
{
    enum accountant_status status =
        all_plain(run) ? accountant_epsilon(&accountant_gdp, run, delta, out)
                       : accountant_pld_figure(run, PLD_EPSILON, delta, effort, out);
    switch (status) {
    case ACCOUNTANT_OK: return DP_SGD_PLAN_OK;
    case ACCOUNTANT_NO_MEMORY: return DP_SGD_PLAN_NO_MEMORY;
    case ACCOUNTANT_OUT_OF_REACH: return DP_SGD_PLAN_INFEASIBLE;
    case ACCOUNTANT_TOO_MUCH_WORK: return DP_SGD_PLAN_TOO_MUCH_WORK;
    case ACCOUNTANT_BAD:
    case ACCOUNTANT_UNSUPPORTED: break;
    }
    return DP_SGD_PLAN_BAD;
}

enum dp_sgd_plan_status dp_sgd_accounting_interval(const struct dp_sgd_plan *plan,
                                                   const struct pld_effort *effort,
                                                   struct privacy_interval *out)
{
    struct composition_part parts[2];
    struct composition run = run_of(plan, parts);
    struct pld_effort bounded = *effort;
    bounded.work = plan->work ? &plan->work->work : NULL;
    if (plan->rounded_draws == 0)
        return figure_at(&run, plan->delta, &bounded, out);
    const struct dp_sgd_allowance allowance = dp_sgd_lattice_allowance(plan);
    struct privacy_interval above, below;
    enum dp_sgd_plan_status status = figure_at(&run, allowance.delta_above, &bounded, &above);
    if (status == DP_SGD_PLAN_OK)
        status = figure_at(&run, allowance.delta_below, &bounded, &below);
    if (status != DP_SGD_PLAN_OK)
        return status;
    const struct privacy_interval figure = {.lower = fmax(0.0, below.lower - allowance.epsilon),
                                            .upper = above.upper + allowance.epsilon};
    if (!dp_sgd_lattice_fits(plan, figure.upper))
        return DP_SGD_PLAN_INFEASIBLE;
    *out = figure;
    return DP_SGD_PLAN_OK;
}

/* At the best order; INFINITY where the curve overflows. */
static double plan_renyi_epsilon(const struct dp_sgd_plan *plan)
{
    struct composition_part parts[2];
    struct composition run = run_of(plan, parts);
    struct privacy_interval figure;
    struct dp_sgd_allowance allowance = {.delta_above = plan->delta};
    if (plan->rounded_draws > 0)
        allowance = dp_sgd_lattice_allowance(plan);
    bool known = accountant_epsilon(&accountant_renyi, &run, allowance.delta_above, &figure) ==
                 ACCOUNTANT_OK;
    return known ? figure.upper + allowance.epsilon : (double)INFINITY;
}

void dp_sgd_accounting_fill(struct dp_sgd_plan *plan, const struct privacy_interval *interval)
{
    plan->epsilon = interval->upper;
    plan->epsilon_lower = interval->lower;
    plan->epsilon_renyi = plan_renyi_epsilon(plan);
}

enum dp_sgd_plan_status dp_sgd_plan_account(struct dp_sgd_plan *plan)
{
    if (!dp_sgd_accounting_valid(plan))
        return DP_SGD_PLAN_BAD;
    struct privacy_interval interval;
    enum dp_sgd_plan_status status =
        dp_sgd_accounting_interval(plan, &ACCOUNTANT_PLD_EFFORT, &interval);
    if (status != DP_SGD_PLAN_OK)
        return status;
    dp_sgd_accounting_fill(plan, &interval);
    return DP_SGD_PLAN_OK;
}

enum dp_sgd_plan_status dp_sgd_plan_epsilon_after(const struct dp_sgd_plan *plan, uint64_t steps,
                                                  double *out_epsilon)
{
    if (!dp_sgd_accounting_valid(plan) || steps > plan->steps)
        return DP_SGD_PLAN_BAD;
    if (steps == 0 && plan->before.times == 0) {
        *out_epsilon = 0.0;
        return DP_SGD_PLAN_OK;
    }
    struct dp_sgd_plan part = *plan;
    struct privacy_interval interval;
    part.steps = steps;
    enum dp_sgd_plan_status status =
        dp_sgd_accounting_interval(&part, &ACCOUNTANT_PLD_EFFORT, &interval);
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
