/* DP-SGD in whole numbers: what its noise costs beyond that of the true law, and its law. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/dp_sgd_plan.h"

static struct dp_sgd_plan plan_of(uint64_t draws)
{
    return (struct dp_sgd_plan){.sampling_rate = 128.0 / 3000.0,
                                .noise_multiplier = 8,
                                .clip_norm = 1.5,
                                .batch_size = 128,
                                .nominal_experts = 3000,
                                .steps = 20000,
                                .rounded_draws = draws,
                                .delta = 1e-5};
}

Test(dp_sgd_lattice, costs_a_little_more_than_noise_of_the_true_law)
{
    struct dp_sgd_plan real = plan_of(0), whole = plan_of(70000);
    cr_assert_eq(dp_sgd_plan_account(&real), DP_SGD_PLAN_OK);
    cr_assert_eq(dp_sgd_plan_account(&whole), DP_SGD_PLAN_OK);
    cr_assert_gt(whole.epsilon, real.epsilon);
    cr_assert_lt(whole.epsilon, real.epsilon * 1.001);
    cr_assert_lt(whole.epsilon_lower, real.epsilon_lower);
    cr_assert_gt(whole.epsilon_lower, real.epsilon_lower * 0.999);
    double after = 0.0;
    cr_assert_eq(dp_sgd_plan_epsilon_after(&whole, whole.steps, &after), DP_SGD_PLAN_OK);
    cr_assert_leq(after, whole.epsilon);
}

Test(dp_sgd_lattice, search_finds_noise_that_pays_for_the_table)
{
    struct dp_sgd_plan plan = plan_of(70000);
    cr_assert_eq(dp_sgd_plan_find_noise(&plan, 3.0), DP_SGD_PLAN_OK);
    cr_assert_leq(plan.epsilon, 3.0);
    cr_assert_gt(plan.epsilon, 2.9);
}

/* e^epsilon times the probability of a rare draw is more than delta can carry. */
Test(dp_sgd_lattice, is_refused_where_rare_draws_are_too_dear)
{
    struct dp_sgd_plan plan = plan_of(70000);
    plan.noise_multiplier = 0.7;
    plan.steps = 2000;
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_INFEASIBLE);
    plan.rounded_draws = 0;
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
    cr_assert_gt(plan.epsilon, 20.0);
}

/* 200,000 draws: mean within 5 standard errors, variance within 5 of its own (sqrt(2 / n)). A false
 * alarm once in a million. */
Test(dp_sgd_lattice, noise_has_the_size_that_was_accounted)
{
    enum { COUNT = 200000 };
    const uint8_t key[32] = {3};
    struct dp_sgd_plan plan = plan_of(COUNT);
    struct noise_source *noise = noise_source_new_injected(key);
    struct rounded_gaussian *table = rounded_gaussian_new();
    int64_t *sum = calloc(COUNT, sizeof *sum);
    float *out = calloc(COUNT, sizeof *out);
    cr_assert(noise && table && sum && out);
    float scale = dp_sgd_plan_lattice_scale(&plan);
    cr_assert_leq((double)scale * plan.clip_norm * plan.noise_multiplier, 4096.0);
    for (int i = 0; i < COUNT; i++)
        sum[i] = i % 2 ? llround(2.0 * (double)scale) : 0;
    dp_sgd_plan_finish_lattice(&plan, table, noise, sum, COUNT, out);
    double mean[2] = {0.0, 0.0}, square = 0.0;
    for (int i = 0; i < COUNT; i++) {
        double x = (double)out[i] * plan.batch_size;
        mean[i % 2] += x / (COUNT / 2);
        x -= i % 2 ? 2.0 : 0.0;
        square += x * x / COUNT;
    }
    double sigma = plan.noise_multiplier * plan.clip_norm;
    cr_expect_float_eq(mean[0], 0.0, 5.0 * sigma / sqrt(COUNT / 2.0));
    cr_expect_float_eq(mean[1], 2.0, 5.0 * sigma / sqrt(COUNT / 2.0));
    cr_expect_float_eq(square / (sigma * sigma), 1.0, 5.0 * sqrt(2.0 / COUNT));
    free(sum);
    free(out);
    rounded_gaussian_free(table);
    noise_source_free(noise);
}
