/* An audit of the judge by held-out experts, by the functions that jobs call: one expert whose
 * every number is as large as may be, beside two who are not. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "algos/offline/judge/held_out.h"
#include "tests/statistical/audit.h"

static const struct judge_pulse nobody = {NULL, NULL};
static const struct judge_terms terms = {.held_out = 0.5, .low = 0, .high = 1, .share = 0.2};

struct judging {
    struct dataset *without, *with;
    struct policy *policy; /* plays action 1 */
    double noise_multiplier;
};

/* Experts of one step each: two of action 0 and return 0.5, and CANARIES of action 1 and return 9,
 * which counts as 1. */
static struct dataset *make_data(uint32_t canaries)
{
    struct dataset_builder *builder = dataset_builder_new(1, 2, 2 + canaries);
    const float states[2] = {0};
    for (uint32_t e = 0; e < 2 + canaries; e++) {
        const uint16_t action = e >= 2;
        const float reward = e >= 2 ? 9.0F : 0.5F;
        const struct trajectory one = {.expert = e,
                                       .length = 1,
                                       .terminated = true,
                                       .states = states,
                                       .actions = &action,
                                       .rewards = &reward};
        cr_assert(dataset_builder_add(builder, &one));
    }
    return dataset_builder_finish(builder);
}

/* The canary adds (1, 1, 1, 1): the sum of all tells most. */
static double all_sums(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct judging *judging = mechanism;
    const struct dataset *data = with ? judging->with : judging->without;
    int64_t sums[HELD_OUT_SUMS];
    double sum = 0.0;
    cr_assert(held_out_sum(data, judging->policy, &terms, 1.0, &nobody, sums));
    held_out_noise(noise, judging->noise_multiplier, sums);
    for (int i = 0; i < HELD_OUT_SUMS; i++)
        sum += (double)sums[i];
    return sum;
}

Test(audit, held_out_judge)
{
    const struct mlp_shape shape = {.input = 1, .layer_count = 1, .width = {2}};
    struct judging judging = {
        .without = make_data(0), .with = make_data(1), .policy = policy_new(&shape, POLICY_ARGMAX)};
    judging.policy->parameters[3] = 1.0F;
    struct dp_sgd_plan plan = {.sampling_rate = 1.0,
                               .clip_norm = 1.0,
                               .batch_size = 1,
                               .nominal_experts = 1,
                               .steps = 1,
                               .delta = 1e-2};
    cr_assert_eq(dp_sgd_plan_find_noise(&plan, 2.0), DP_SGD_PLAN_OK); /* as jobs find it */
    judging.noise_multiplier = plan.noise_multiplier;
    const struct audit audit = {.name = AUDIT_HELD_OUT,
                                .title = "judge by held-out experts",
                                .epsilon = plan.epsilon,
                                .delta = plan.delta,
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 10000,
                                .statistic = all_sums};
    struct judging loud = judging, twice = judging;
    loud.noise_multiplier /= 2;
    twice.with = make_data(2);
    audit_holds(&audit, &judging);
    audit_exceeds(&audit, &loud, "half the noise");
    audit_exceeds(&audit, &twice, "an expert who judges twice");
    dataset_free(judging.without);
    dataset_free(judging.with);
    dataset_free(twice.with);
    policy_free(judging.policy);
}
