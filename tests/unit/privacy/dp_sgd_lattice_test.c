/* DP-SGD in whole numbers: what its noise costs beyond that of the true law, and its law. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_pld.h"
#include "algos/privacy/training/dp_sgd_plan.h"

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
    cr_assert_geq(whole.epsilon, real.epsilon);
    cr_assert_lt(whole.epsilon, real.epsilon * 1.001);
    cr_assert_gt(whole.epsilon_renyi, real.epsilon_renyi);
    cr_assert_lt(whole.epsilon_renyi, real.epsilon_renyi * 1.001);
    cr_assert_leq(whole.epsilon_lower, real.epsilon_lower);
    cr_assert_gt(whole.epsilon_lower, real.epsilon_lower * 0.999);
    double after = 0.0;
    cr_assert_eq(dp_sgd_plan_epsilon_after(&whole, whole.steps, &after), DP_SGD_PLAN_OK);
    cr_assert_leq(after, whole.epsilon);
}

Test(dp_sgd_lattice, search_finds_noise_that_pays_for_rounding)
{
    struct dp_sgd_plan plan = plan_of(70000);
    cr_assert_eq(dp_sgd_plan_find_noise(&plan, 3.0), DP_SGD_PLAN_OK);
    cr_assert_leq(plan.epsilon, 3.0);
    cr_assert_gt(plan.epsilon, 2.9);
}

/* What a ledger's event says, the Gaussians and the rounding as mechanisms of their own beside what
 * was before, is worth what was charged; without the latter it would not be more. */
Test(dp_sgd_lattice, the_price_of_rounding_composes_to_the_whole)
{
    for (int first = 0; first < 2; first++) {
        struct dp_sgd_plan plan = plan_of(70000);
        if (first)
            plan.before = (struct composition_part){
                .mechanism = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, 4.0}},
                .times = 1};
        cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
        const struct mechanism step = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                                       .gaussian = {plan.sampling_rate, plan.noise_multiplier}};
        const struct composition_part rounding = dp_sgd_plan_rounding_price(&plan, plan.steps);
        struct composition event = {0};
        struct privacy_interval with, without;
        cr_assert_eq(rounding.times, 1);
        cr_assert_eq(composition_add(&event, &step, plan.steps), COMPOSITION_OK);
        if (first)
            cr_assert_eq(composition_add(&event, &plan.before.mechanism, 1), COMPOSITION_OK);
        cr_assert_eq(accountant_pld_figure(&event, PLD_EPSILON, plan.delta, &ACCOUNTANT_PLD_EFFORT,
                                           &without),
                     ACCOUNTANT_OK);
        cr_assert_eq(composition_add(&event, &rounding.mechanism, 1), COMPOSITION_OK);
        cr_assert_eq(
            accountant_pld_figure(&event, PLD_EPSILON, plan.delta, &ACCOUNTANT_PLD_EFFORT, &with),
            ACCOUNTANT_OK);
        cr_expect_float_eq(with.upper, plan.epsilon, 1e-6 * plan.epsilon, "%.9f, not %.9f",
                           with.upper, plan.epsilon);
        cr_expect_lt(without.upper, plan.epsilon);
        composition_clear(&event);
        cr_expect_eq(dp_sgd_plan_rounding_price(&plan, 0).times, 0);
        plan.rounded_draws = 0;
        cr_expect_eq(dp_sgd_plan_rounding_price(&plan, plan.steps).times, 0);
    }
}

/* e^epsilon times the probability of a rare draw is more than delta can carry. */
Test(dp_sgd_lattice, is_refused_where_rare_draws_are_too_dear)
{
    struct dp_sgd_plan plan = plan_of(70000);
    plan.noise_multiplier = 0.5;
    plan.steps = 4000;
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_INFEASIBLE);
    plan.rounded_draws = 0;
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
    cr_assert_gt(plan.epsilon, 30.0);
}

/* 200,000 draws: mean within 5 standard errors, variance within 5 of its own (sqrt(2 / n)). A false
 * alarm once in a million. */
Test(dp_sgd_lattice, noise_has_the_size_that_was_accounted)
{
    enum { COUNT = 200000 };
    const uint8_t key[32] = {3};
    struct dp_sgd_plan plan = plan_of(COUNT);
    struct noise_source *noise = noise_source_new_injected(key);
    int64_t *sum = calloc(COUNT, sizeof *sum);
    float *out = calloc(COUNT, sizeof *out);
    cr_assert(noise && sum && out);
    double units = dp_sgd_plan_lattice_units(&plan);
    cr_assert_float_eq(units * plan.clip_norm, DP_SGD_LATTICE_NORM, 1e-9);
    for (int i = 0; i < COUNT; i++)
        sum[i] = i % 2 ? llround(2.0 * units) : 0;
    dp_sgd_plan_finish_lattice(&plan, noise, sum, COUNT, out);
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
    noise_source_free(noise);
}
