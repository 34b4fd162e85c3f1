/* Held-out experts: who they are, how much one of them can change, and what the noisy sums say. */
#include "algos/offline/judge/held_out.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/offline.h"
#include "algos/privacy/noise/noise_source.h"
#include "envs/rng.h"
#include "memory/memory.h"
#include "tests/unit/algos/offline_kit.h"

enum { EXPERTS = 60 };
static const struct judge_pulse nobody = {NULL, NULL};
static const struct judge_terms terms = {.held_out = 0.3, .low = -1, .high = 3, .share = 0.2};

/* EXPERTS experts with two trajectories each and keys of their own. WILD: with numbers that no
 * expert should have. WITHOUT: this one has no data (EXPERTS: all have some). */
static struct dataset *make_data(bool wild, uint32_t without)
{
    static const float strange[] = {1e30F, -1e30F, FLT_MAX, 0.0F, -3.0F, 1e-30F};
    struct dataset_builder *builder = dataset_builder_new(KIT_DIM, KIT_ACTIONS, EXPERTS);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        struct rng rng;
        rng_seed(&rng, 5, e); /* its data do not depend on who else is there */
        for (int i = 0; i < 2; i++) {
            float states[6 * KIT_DIM], rewards[5];
            uint16_t actions[5];
            struct trajectory one = {.expert = e,
                                     .length = 5,
                                     .terminated = true,
                                     .states = states,
                                     .actions = actions,
                                     .rewards = rewards};
            for (int k = 0; k < 6 * KIT_DIM; k++)
                states[k] = wild ? strange[rng_below(&rng, 6)] : (float)rng_normal(&rng);
            for (int k = 0; k < 5; k++) {
                actions[k] = (uint16_t)rng_below(&rng, KIT_ACTIONS);
                rewards[k] = wild ? strange[rng_below(&rng, 6)] : (float)rng_normal(&rng);
            }
            if (e != without)
                cr_assert(dataset_builder_add(builder, &one));
        }
    }
    struct dataset *data = dataset_builder_finish(builder);
    data->expert_keys = memory_new(EXPERTS, sizeof *data->expert_keys);
    for (uint32_t e = 0; e < EXPERTS; e++)
        data->expert_keys[e] = (e + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return data;
}

static struct policy *make_policy(enum policy_output output, float size)
{
    const struct mlp_shape shape = {.input = KIT_DIM, .layer_count = 2, .width = {5, KIT_ACTIONS}};
    struct policy *policy = policy_new(&shape, output);
    struct rng rng;
    rng_seed(&rng, 9, 0);
    for (size_t i = 0; i < mlp_parameter_count(&shape); i++)
        policy->parameters[i] = size * (float)rng_normal(&rng);
    return policy;
}

static uint64_t owned(const struct dataset *data, uint32_t expert)
{
    return data->expert_transitions[expert + 1] - data->expert_transitions[expert];
}

/* Each is in one part, with all its data, whoever else is there. */
Test(held_out, the_coin_of_an_expert_is_its_own)
{
    struct dataset *all = make_data(false, EXPERTS), *fewer = make_data(false, 7);
    struct dataset *judges = held_out_part(all, 0.3, true),
                   *others = held_out_part(all, 0.3, false);
    struct dataset *still = held_out_part(fewer, 0.3, true);
    uint32_t count = 0;
    for (uint32_t e = 0; e < EXPERTS; e++) {
        bool judge = held_out_judges(all->expert_keys[e], 0.3);
        count += judge;
        cr_assert_eq(owned(judges, e), judge ? 10 : 0);
        cr_assert_eq(owned(others, e), judge ? 0 : 10);
        cr_assert_eq(owned(still, e), judge && e != 7 ? 10 : 0, "%u moved", e);
    }
    cr_assert(count > 5 && count < 35, "%u of 60", count);
    cr_assert_eq(judges->transition_count + others->transition_count, all->transition_count);
    uint32_t heads = 0;
    for (uint64_t key = 1; key <= 100000; key++)
        heads += held_out_judges(key * UINT64_C(0xD1342543DE82EF95), 0.3);
    cr_assert_float_eq((double)heads, 30000, 5 * sqrt(100000 * 0.3 * 0.7), "%u", heads);
    dataset_free(all);
    dataset_free(fewer);
    dataset_free(judges);
    dataset_free(others);
    dataset_free(still);
}

/* One expert more, whatever its numbers and the policy's are, moves the sums by HELD_OUT_NORM at
 * most: the sensitivity that the noise is made for. */
Test(held_out, one_expert_changes_no_more_than_the_norm)
{
    static const enum policy_output outputs[] = {POLICY_SOFTMAX, POLICY_ARGMAX, POLICY_Q};
    static const float sizes[] = {0.1F, 3.0F, 1e30F, NAN};
    for (int wild = 0; wild < 2; wild++)
        for (size_t o = 0; o < 3; o++)
            for (size_t z = 0; z < 4; z++) {
                struct policy *policy = make_policy(outputs[o], sizes[z]);
                struct dataset *all = make_data(wild, EXPERTS);
                int64_t whole[HELD_OUT_SUMS], part[HELD_OUT_SUMS];
                cr_assert(held_out_sum(all, policy, &terms, 0.9, &nobody, whole));
                cr_assert_eq(whole[HELD_OUT_COUNT], EXPERTS * HELD_OUT_UNITS);
                for (uint32_t e = 0; e < EXPERTS; e += 7) {
                    struct dataset *less = make_data(wild, e);
                    double square = 0.0;
                    cr_assert(held_out_sum(less, policy, &terms, 0.9, &nobody, part));
                    for (int i = 0; i < HELD_OUT_SUMS; i++)
                        square += pow((double)(whole[i] - part[i]), 2.0);
                    cr_assert_leq(square, (double)HELD_OUT_NORM * HELD_OUT_NORM);
                    dataset_free(less);
                }
                dataset_free(all);
                policy_free(policy);
            }
}

/* Two experts by hand: returns 1 + 0.5 = 1.5 and 9, which is cut to 3; the policy plays 1 always.
 */
Test(held_out, sums_that_are_known)
{
    struct dataset_builder *builder = dataset_builder_new(1, 2, 2);
    const float states[3] = {0}, ones[2] = {1, 1}, nines[2] = {9, 0};
    const uint16_t both[2] = {1, 1}, half[2] = {1, 0};
    const struct trajectory first = {.expert = 0,
                                     .length = 2,
                                     .terminated = true,
                                     .states = states,
                                     .actions = both,
                                     .rewards = ones};
    const struct trajectory second = {.expert = 1,
                                      .length = 2,
                                      .terminated = true,
                                      .states = states,
                                      .actions = half,
                                      .rewards = nines};
    cr_assert(dataset_builder_add(builder, &first) && dataset_builder_add(builder, &second));
    struct dataset *data = dataset_builder_finish(builder);
    const struct mlp_shape shape = {.input = 1, .layer_count = 1, .width = {2}};
    struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
    policy->parameters[3] = 1; /* the bias of action 1 */
    int64_t sums[HELD_OUT_SUMS];
    cr_assert(held_out_sum(data, policy, &terms, 0.5, &nobody, sums));
    /* x: (1.5 - 1) / 2 = 0.25, and 1; a: 1, and 0.5; a x: 0.25, and 0.5 */
    cr_assert_eq(sums[HELD_OUT_COUNT], 2 * HELD_OUT_UNITS);
    cr_assert_eq(sums[HELD_OUT_VALUE], 1.25 * HELD_OUT_UNITS);
    cr_assert_eq(sums[HELD_OUT_AGREEMENT], 1.5 * HELD_OUT_UNITS);
    cr_assert_eq(sums[HELD_OUT_PRODUCT], 0.75 * HELD_OUT_UNITS);
    struct held_out_figures f = held_out_conclude(sums, &terms, 1e-6);
    cr_assert_float_eq(f.behaviour.value, 1 + 2 * 0.625, 1e-9); /* (1.5 + 3) / 2 */
    cr_assert_float_eq(f.agreement.value, 0.75, 1e-9);
    cr_assert_float_eq(f.agreeing.value, 1 + 2 * 0.5, 1e-9);
    dataset_free(data);
    policy_free(policy);
}

/* The noise has the deviation that was paid for; 4000 draws of four sums. */
Test(held_out, the_noise_is_what_was_accounted)
{
    enum { DRAWS = 4000 };
    const uint8_t key[32] = {3};
    struct noise_source *noise = noise_source_new_injected(key);
    const double multiplier = 1.7, deviation = multiplier * HELD_OUT_NORM;
    double sum = 0.0, squares = 0.0;
    cr_assert_geq((double)held_out_scale(multiplier), ldexp(deviation, 20));
    cr_assert_lt((double)held_out_scale(multiplier), ldexp(deviation, 20) + 1.0);
    for (int i = 0; i < DRAWS; i++) {
        int64_t sums[HELD_OUT_SUMS] = {0};
        held_out_noise(noise, multiplier, sums);
        for (int k = 0; k < HELD_OUT_SUMS; k++) {
            sum += (double)sums[k] / deviation;
            squares += pow((double)sums[k] / deviation, 2.0);
        }
    }
    double n = DRAWS * HELD_OUT_SUMS;
    cr_assert_float_eq(sum / n, 0, 5 / sqrt(n));
    cr_assert_float_eq(squares / n, 1, 5 * sqrt(2 / n));
    noise_source_free(noise);
}

/* ---- what they say */

static struct held_out_figures conclude(double n, double x, double a, double ax, double noise)
{
    const int64_t sums[HELD_OUT_SUMS] = {[HELD_OUT_COUNT] = llround(n * HELD_OUT_UNITS),
                                         [HELD_OUT_VALUE] = llround(x * HELD_OUT_UNITS),
                                         [HELD_OUT_AGREEMENT] = llround(a * HELD_OUT_UNITS),
                                         [HELD_OUT_PRODUCT] = llround(ax * HELD_OUT_UNITS)};
    return held_out_conclude(sums, &terms, noise);
}

static void expect(const struct held_out_figures *f, enum verdict verdict, const char *word)
{
    cr_assert_eq(f->verdict, verdict, "%s: %s", word, f->reason[0]);
    cr_assert_neq(strstr(f->reason[0], word), NULL, "%s: %s", word, f->reason[0]);
    cr_assert_neq(strstr(f->reason[f->reason_count - 1], "no estimate"), NULL);
}

Test(held_out, verdicts)
{
    struct held_out_figures f = conclude(100, 20, 80, 18, 1);
    expect(&f, VERDICT_WEAK, "no estimate");
    cr_assert(f.experts.low < 100 && f.experts.high > 100);
    f = conclude(12, 2, 10, 2, 1); /* 1.64 deviations of 2 below 12 */
    expect(&f, VERDICT_NOT_SUPPORTED, "fewer than ten");
    f = conclude(1000, 200, 200, 50, 1);
    expect(&f, VERDICT_NOT_SUPPORTED, "less than half");
    f = conclude(1000, 600, 800, 100, 1);
    expect(&f, VERDICT_NOT_SUPPORTED, "earn less");
    f = conclude(-3, 1, -2, 1, 5);
    expect(&f, VERDICT_NOT_SUPPORTED, "fewer than ten");
    cr_assert(isnan(f.behaviour.value) && isnan(f.agreement.low) && isnan(f.agreeing.high));
    f = conclude(100, 300, 80, -300, 1); /* noise beyond what is possible */
    cr_assert(f.behaviour.high <= terms.high && f.agreeing.low >= terms.low);
}

/* Intervals of 90 % hold the truth in 600 of 800 draws at least: the bound on the variance leaves
 * them more, and a binomial of 0.9 falls below 0.85 with probability 1e-6. */
Test(held_out, intervals_hold_the_truth)
{
    enum { RUNS = 800, PEOPLE = 150 };
    uint32_t behaviour = 0, agreement = 0, agreeing = 0;
    const uint8_t key[32] = {8};
    struct noise_source *noise = noise_source_new_injected(key);
    struct rng rng;
    rng_seed(&rng, 4, 0);
    for (int run = 0; run < RUNS; run++) {
        double x = 0, a = 0, ax = 0;
        for (int e = 0; e < PEOPLE; e++) { /* a is uniform on [0.2, 1], x is 2 a - 1 or -0.2 */
            double one = rng_between(&rng, 0.2, 1),
                   value = rng_uniform(&rng) < 0.5 ? -0.2 : 2 * one - 1;
            x += value;
            a += one;
            ax += one * value;
        }
        int64_t sums[HELD_OUT_SUMS] = {PEOPLE * HELD_OUT_UNITS, llround(x * HELD_OUT_UNITS),
                                       llround(a * HELD_OUT_UNITS), llround(ax * HELD_OUT_UNITS)};
        held_out_noise(noise, 2, sums);
        struct held_out_figures f = held_out_conclude(sums, &terms, 2);
        /* E x = (0.2 - 0.2) / 2 = 0; E a = 0.6; E a x = (2 E a^2 - E a - 0.2 E a) / 2 with
         * E a^2 = 0.36 + 0.8^2 / 12. */
        double product = (2 * (0.36 + 0.64 / 12) - 1.2 * 0.6) / 2;
        double truth = 1 + 2 * product / 0.6;
        behaviour += f.behaviour.low <= 1 && 1 <= f.behaviour.high;
        agreement += f.agreement.low <= 0.6 && 0.6 <= f.agreement.high;
        agreeing += f.agreeing.low <= truth && truth <= f.agreeing.high;
    }
    cr_assert_geq(behaviour, 0.85 * RUNS, "%u", behaviour);
    cr_assert_geq(agreement, 0.85 * RUNS, "%u", agreement);
    cr_assert_geq(agreeing, 0.85 * RUNS, "%u", agreeing);
    noise_source_free(noise);
}

/* ---- the training beside them */

/* Noise and judge together cost what was asked for; the judge alone costs its share. */
Test(held_out, the_plan_pays_for_both)
{
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_DPSGD, 200);
    kit_plan(&kit);
    double without = kit.plan.privacy.noise_multiplier, asked = kit.request.epsilon;
    kit.request.judge = terms;
    kit_plan(&kit);
    cr_assert_gt(kit.plan.privacy.noise_multiplier, without, "the training has less to spend");
    cr_assert_leq(kit.plan.privacy.epsilon, asked);
    cr_assert_gt(kit.plan.privacy.epsilon, 0.9 * asked);
    const struct composition_part *before = &kit.plan.privacy.before;
    cr_assert(before->times == 1 && before->mechanism.kind == MECHANISM_SUBSAMPLED_GAUSSIAN);
    cr_assert_eq(before->mechanism.gaussian.noise_multiplier, kit.plan.judge_noise);
    cr_assert_eq(before->mechanism.gaussian.sampling_rate, 1);
    struct dp_sgd_plan alone = {.sampling_rate = 1,
                                .noise_multiplier = kit.plan.judge_noise,
                                .clip_norm = 1,
                                .batch_size = 1,
                                .nominal_experts = 1,
                                .steps = 1,
                                .delta = terms.share * kit.request.delta};
    cr_assert_eq(dp_sgd_plan_account(&alone), DP_SGD_PLAN_OK);
    cr_assert_leq(alone.epsilon, terms.share * asked);
}

/* A share may be so small that its noise cannot be drawn: no plan asks for such. */
Test(held_out, a_share_that_is_too_small_is_refused)
{
    unsigned accepted = 0, refused = 0;
    for (double share = 0.2; share > 1e-7; share /= 3) {
        struct kit kit;
        const char *message = NULL;
        kit_init(&kit, "cql", MECHANISM_DPSGD, 200);
        kit.request.judge = terms;
        kit.request.judge.share = share;
        enum algorithm_status status = kit.algorithm->plan(&kit.request, &kit.plan, &message);
        cr_assert(status == ALGORITHM_OK || status == ALGORITHM_INFEASIBLE);
        if (status == ALGORITHM_OK)
            cr_expect_leq(kit.plan.judge_noise, HELD_OUT_MAX_NOISE, "%g", share);
        accepted += status == ALGORITHM_OK;
        refused += status != ALGORITHM_OK;
    }
    cr_expect(accepted > 0 && refused > 0, "%u, %u", accepted, refused);
}

/* A part without an expert trains as any other: an error would tell that nobody is there. */
Test(held_out, a_training_without_anybody_is_noise_alone)
{
    struct dataset *all = make_data(false, EXPERTS);
    for (uint32_t e = 0; e < EXPERTS; e++)
        while (!held_out_judges(all->expert_keys[e], 0.3))
            all->expert_keys[e]++;
    struct dataset *empty = held_out_part(all, 0.3, false);
    cr_assert_eq(empty->transition_count, 0);
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_DPSGD, EXPERTS);
    kit.request.judge = terms;
    kit_plan(&kit);
    struct policy *policy = kit_train(&kit, empty, 1);
    cr_assert_not_null(policy);
    int64_t sums[HELD_OUT_SUMS];
    cr_assert(held_out_sum(empty, policy, &terms, 0.9, &nobody, sums));
    for (int i = 0; i < HELD_OUT_SUMS; i++)
        cr_assert_eq(sums[i], 0);
    policy_free(policy);
    dataset_free(empty);
    dataset_free(all);
}
