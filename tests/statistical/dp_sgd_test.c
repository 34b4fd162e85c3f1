/* Audit of DP-SGD: a canary expert whose gradient is longer than the clip norm, everybody else's
 * zero, and an attacker who sees every iterate. Batches and noise come from the plan that was
 * accounted, the clip from the network's own. And the traps: what each mistake would cost. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/nn/per_example.h"
#include "algos/privacy/training/dp_sgd_plan.h"
#include "tests/statistical/audit.h"

enum { EXPERTS = 8, CANARY = 3, WEIGHTS = 6, TENSORS = 3 };

struct canary {
    struct dp_sgd_plan plan;
    double norm; /* of its gradient, in clip norms */
    void (*clip)(const struct dp_sgd_plan *plan, float gradient[WEIGHTS]);
};

static double squared_norm(const float *v, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += (double)v[i] * (double)v[i];
    return sum;
}

static void scale(float *v, int count, float factor)
{
    for (int i = 0; i < count; i++)
        v[i] *= factor;
}

static void clip(const struct dp_sgd_plan *plan, float gradient[WEIGHTS])
{
    double norm = squared_norm(gradient, WEIGHTS);
    float factor;
    per_example_factors(&norm, 1, plan->clip_norm, &factor);
    scale(gradient, WEIGHTS, factor);
}

static void clip_missing(const struct dp_sgd_plan *plan, float gradient[WEIGHTS])
{
    (void)plan;
    (void)gradient;
}

/* Lengthens what is short and leaves what is long. */
static void clip_flipped(const struct dp_sgd_plan *plan, float gradient[WEIGHTS])
{
    double norm = sqrt(squared_norm(gradient, WEIGHTS));
    if (norm > 0.0)
        scale(gradient, WEIGHTS, (float)fmax(1.0, plan->clip_norm / norm));
}

/* Each tensor by itself: the whole is longer by the root of their number. */
static void clip_apart(const struct dp_sgd_plan *plan, float gradient[WEIGHTS])
{
    enum { PART = WEIGHTS / TENSORS };
    for (int tensor = 0; tensor < TENSORS; tensor++) {
        double norm = squared_norm(gradient + tensor * PART, PART);
        float factor;
        per_example_factors(&norm, 1, plan->clip_norm, &factor);
        scale(gradient + tensor * PART, PART, factor);
    }
}

/* The log-likelihood ratio of all steps. */
static double canary_seen(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct canary *canary = mechanism;
    const struct dp_sgd_plan *plan = &canary->plan;
    double ratio = 0.0, variance = plan->noise_multiplier * plan->noise_multiplier;
    float side = (float)(canary->norm * plan->clip_norm / sqrt(WEIGHTS));
    for (uint64_t step = 0; step < plan->steps; step++) {
        uint32_t chosen[EXPERTS];
        uint32_t count = dp_sgd_plan_draw_batch(plan, noise, EXPERTS, chosen);
        float sum[WEIGHTS] = {0};
        for (uint32_t i = 0; i < count; i++) {
            float gradient[WEIGHTS];
            for (int j = 0; j < WEIGHTS; j++)
                gradient[j] = with && chosen[i] == CANARY ? side : 0.0F;
            canary->clip(plan, gradient);
            for (int j = 0; j < WEIGHTS; j++)
                sum[j] += gradient[j];
        }
        dp_sgd_plan_finish_sum(plan, noise, sum, WEIGHTS);
        double along = 0.0;
        for (int j = 0; j < WEIGHTS; j++)
            along += (double)sum[j] * plan->batch_size / plan->clip_norm / sqrt(WEIGHTS);
        double odds = exp(fmin((2.0 * along - 1.0) / (2.0 * variance), 700.0));
        ratio += log1p(plan->sampling_rate * (odds - 1.0));
    }
    return ratio;
}

/* The plan's own claim. */
static struct canary canary_of(uint64_t steps, double noise, double delta)
{
    struct canary canary = {.norm = 3.0, .clip = clip};
    canary.plan = (struct dp_sgd_plan){.sampling_rate = 0.5,
                                       .noise_multiplier = noise,
                                       .clip_norm = 0.25,
                                       .batch_size = EXPERTS / 2,
                                       .nominal_experts = EXPERTS,
                                       .steps = steps,
                                       .delta = delta};
    cr_assert_eq(dp_sgd_plan_account(&canary.plan), DP_SGD_PLAN_OK);
    return canary;
}

static struct audit audit_of(const struct canary *canary, enum audit_name name, const char *title)
{
    return (struct audit){
        .name = name,
        .title = title,
        .epsilon = canary->plan.epsilon,
        .delta = canary->plan.delta,
        .claim = AUDIT_PROFILE,
        .run = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                .gaussian = {canary->plan.sampling_rate, canary->plan.noise_multiplier}},
        .times = canary->plan.steps,
        .samples = canary->plan.steps > 1 ? 12000 : 40000,
        .statistic = canary_seen};
}

Test(audit, dp_sgd)
{
    const struct canary canary = canary_of(4, 1.0, 1e-2);
    const struct audit audit = audit_of(&canary, AUDIT_DP_SGD, "dp-sgd, 4 steps");
    struct audit trap = audit; /* traps are seen with few draws */
    struct canary mutant = canary;
    audit_holds(&audit, &canary);
    mutant.plan.noise_multiplier *= 0.5;
    audit_exceeds(&audit, &mutant, "half the noise");
    trap.samples /= 4;
    mutant = canary;
    mutant.plan.sampling_rate = 1.0;
    audit_exceeds(&trap, &mutant, "batches of everybody");
    mutant = canary;
    mutant.clip = clip_missing;
    audit_exceeds(&trap, &mutant, "a missing clip");
    mutant.clip = clip_flipped;
    audit_exceeds(&trap, &mutant, "a sign-flipped clip");
    mutant.clip = clip_apart;
    audit_exceeds(&trap, &mutant, "tensors clipped one by one");
}

Test(audit, dp_sgd_once)
{
    const struct canary canary = canary_of(1, 1.0, 1e-3);
    const struct audit audit = audit_of(&canary, AUDIT_DP_SGD_ONCE, "dp-sgd, 1 step");
    struct canary mutant = canary;
    audit_holds(&audit, &canary);
    mutant.plan.noise_multiplier *= 0.5;
    audit_exceeds(&audit, &mutant, "half the noise");
}
