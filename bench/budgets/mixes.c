#include "bench/budgets/mixes.h"

#include <math.h>
#include <stdlib.h>

#include "algos/privacy/training/dp_sgd_plan.h"

static double log_uniform(struct rng *rng, double low, double high)
{
    return low * pow(high / low, rng_uniform(rng));
}

bool job_find(double epsilon, double delta, uint32_t batch, uint64_t steps, double stage,
              struct budget_job *out)
{
    struct dp_sgd_plan plan = {.sampling_rate = (double)batch / EXPERTS,
                               .batch_size = batch,
                               .nominal_experts = EXPERTS,
                               .steps = steps,
                               .clip_norm = 1,
                               .rounded_draws = 5000,
                               .delta = delta};
    if (stage > 0)
        plan.before = (struct composition_part){
            {.kind = MECHANISM_EPSILON_DELTA, .pair = {epsilon * stage, delta * 0.001}}, 1};
    *out = (struct budget_job){.sampling_rate = plan.sampling_rate, .steps = steps, .delta = delta};
    if (dp_sgd_plan_find_noise(&plan, epsilon) != DP_SGD_PLAN_OK)
        return false;
    out->epsilon = plan.epsilon;
    out->noise_multiplier = plan.noise_multiplier;
    const struct mechanism noise = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                                    .gaussian = {plan.sampling_rate, plan.noise_multiplier}};
    const struct composition_part rounding = dp_sgd_plan_rounding_price(&plan, steps);
    if (plan.before.times > 0)
        composition_add(&out->plan, &plan.before.mechanism, 1);
    if (rounding.times > 0)
        composition_add(&out->plan, &rounding.mechanism, rounding.times);
    return composition_add(&out->plan, &noise, steps) == COMPOSITION_OK;
}

void job_clear(struct budget_job *job)
{
    composition_clear(&job->plan);
}

bool mix_of(double epsilon, double delta, const struct budget_job *job, struct mix *out)
{
    *out = (struct mix){.epsilon = epsilon, .delta = delta, .job = {*job}, .kinds = 1};
    out->order = calloc(MIX_JOBS, 1);
    return out->order;
}

bool mix_draw(struct rng *rng, struct mix *out)
{
    *out = (struct mix){.epsilon = log_uniform(rng, 1, 20), .delta = log_uniform(rng, 1e-8, 1e-5)};
    const unsigned kinds = 1 + (unsigned)(rng_uniform(rng) * MIX_KINDS);
    while (out->kinds < kinds) {
        double epsilon = log_uniform(rng, out->epsilon / 20, out->epsilon / 3);
        uint32_t batch = (uint32_t)log_uniform(rng, 10, 900);
        uint64_t steps = (uint64_t)log_uniform(rng, 50, 20000);
        if (rng_uniform(rng) < 0.1) {
            batch = EXPERTS;
            steps = 1;
        }
        double stage = rng_uniform(rng) < 0.25 ? 0.2 : 0;
        if (!job_find(epsilon, out->delta / 10, batch, steps, stage, &out->job[out->kinds++]))
            return false;
    }
    out->order = malloc(MIX_JOBS);
    for (unsigned i = 0; out->order && i < MIX_JOBS; i++)
        out->order[i] = (unsigned char)(rng_uniform(rng) * kinds);
    return out->order;
}

void mix_clear(struct mix *mix)
{
    for (unsigned k = 0; k < mix->kinds; k++)
        job_clear(&mix->job[k]);
    free(mix->order);
}
