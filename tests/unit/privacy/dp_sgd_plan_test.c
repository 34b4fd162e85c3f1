/* The plan: what it costs, what it refuses, and that its noise is there. */
#include "algos/privacy/training/dp_sgd_plan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

static struct dp_sgd_plan plan_of(uint32_t batch, uint32_t experts, double noise, uint64_t steps,
                                  double delta)
{
    return (struct dp_sgd_plan){.sampling_rate = (double)batch / experts,
                                .noise_multiplier = noise,
                                .clip_norm = 1.0,
                                .batch_size = batch,
                                .nominal_experts = experts,
                                .steps = steps,
                                .delta = delta};
}

/* What is planned within a limit is what is planned without one. */
Test(dp_sgd_plan, work_has_an_end)
{
    static struct dp_sgd_work work;
    struct dp_sgd_plan free = plan_of(256, 10000, 0, 1000, 1e-5), plan = free;
    cr_assert_eq(dp_sgd_plan_find_noise(&free, 2.0), DP_SGD_PLAN_OK);
    work.work.left = 1e12;
    plan.work = &work;
    cr_assert_eq(dp_sgd_plan_find_noise(&plan, 2.0), DP_SGD_PLAN_OK);
    cr_expect(plan.noise_multiplier == free.noise_multiplier && plan.epsilon == free.epsilon);
    cr_expect_lt(work.work.left, 1e12);
    work.work.left = 1000;
    plan.clip_norm = 2.0;
    cr_expect_eq(dp_sgd_plan_find_noise(&plan, 2.0), DP_SGD_PLAN_TOO_MUCH_WORK);
    cr_expect(plan.noise_multiplier == free.noise_multiplier, "nothing is touched");
}

/* A search that is asked again is not made again; one of another question is. */
Test(dp_sgd_plan, what_was_found_is_found_again_without_work)
{
    static struct dp_sgd_work work = {.work = {1e12}};
    struct dp_sgd_plan first = plan_of(256, 10000, 0, 1000, 1e-5), again, other;
    first.work = &work;
    again = other = first;
    cr_assert_eq(dp_sgd_plan_find_noise(&first, 2.0), DP_SGD_PLAN_OK);
    double left = work.work.left;
    cr_assert_eq(dp_sgd_plan_find_noise(&again, 2.0), DP_SGD_PLAN_OK);
    cr_expect_eq(work.work.left, left);
    cr_expect(again.noise_multiplier == first.noise_multiplier && again.epsilon == first.epsilon &&
              again.steps == first.steps);
    cr_assert_eq(dp_sgd_plan_find_noise(&other, 3.0), DP_SGD_PLAN_OK);
    cr_expect(work.work.left < left && other.noise_multiplier < first.noise_multiplier);
    other = plan_of(256, 10000, first.noise_multiplier, 1000, 1e-5);
    other.work = &work;
    left = work.work.left;
    cr_assert_eq(dp_sgd_plan_find_steps(&other, 2.0, 5000), DP_SGD_PLAN_OK);
    cr_expect(work.work.left < left && other.steps >= 1000);
}

Test(dp_sgd_plan, account)
{
    struct dp_sgd_plan plan = plan_of(427, 10000, 20.0, 100000, 1e-5);
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
    double exact = 2.795739966255; /* contour integration */
    cr_assert(plan.epsilon_lower <= exact && exact <= plan.epsilon);
    cr_assert_leq(plan.epsilon - plan.epsilon_lower, 2e-4 * exact);
    cr_assert(plan.epsilon_renyi > exact && plan.epsilon_renyi < 1.1 * exact);
}

Test(dp_sgd_plan, renyi_never_contradicts, .timeout = 600)
{
    json_t *root = golden_load("subsampled_gaussian.json"), *one;
    size_t i, seen = 0;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        double q = golden_number(one, "sampling_prob");
        /* rates that are batch / experts for experts = 3000 */
        uint32_t batch = (uint32_t)lround(q * 3000.0);
        if (fabs(batch / 3000.0 - q) > 1e-12 || golden_number(one, "steps") > 2e4)
            continue;
        struct dp_sgd_plan plan =
            plan_of(batch, 3000, golden_number(one, "noise_multiplier"),
                    (uint64_t)golden_number(one, "steps"), golden_number(one, "delta"));
        cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
        cr_expect_geq(plan.epsilon_renyi, plan.epsilon_lower, "case %zu", i);
        cr_expect_geq(plan.epsilon_renyi, golden_number(one, "epsilon_exact") * (1.0 - 1e-12));
        /* as good as the usual list of orders */
        cr_expect_leq(plan.epsilon_renyi, 1.02 * golden_number(one, "rdp_epsilon") + 1e-3);
        seen++;
    }
    cr_assert_gt(seen, 20);
    json_decref(root);
}

Test(dp_sgd_plan, find_noise, .timeout = 600)
{
    static const double targets[] = {0.1, 1.0, 10.0};
    for (size_t i = 0; i < 3; i++) {
        struct dp_sgd_plan plan = plan_of(128, 300, 0.0, 20000, 1e-5);
        cr_assert_eq(dp_sgd_plan_find_noise(&plan, targets[i]), DP_SGD_PLAN_OK);
        cr_assert_leq(plan.epsilon, targets[i]);
        cr_assert_gt(plan.epsilon_lower, 0.99 * targets[i]);
        struct dp_sgd_plan again = plan, less = plan;
        cr_assert_eq(dp_sgd_plan_account(&again), DP_SGD_PLAN_OK);
        cr_assert_eq(again.epsilon, plan.epsilon, "the same plan costs the same");
        less.noise_multiplier *= 1.0 - 1.2e-3;
        cr_assert_eq(dp_sgd_plan_account(&less), DP_SGD_PLAN_OK);
        cr_assert_gt(less.epsilon, targets[i], "a thousandth less noise would not do");
    }
}

Test(dp_sgd_plan, find_steps_against_oracles, .timeout = 300)
{
    json_t *root = golden_load("max_steps.json"), *one;
    size_t i, seen = 0;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        double want = golden_number(one, "max_steps");
        if (want > 3e5)
            continue;
        struct dp_sgd_plan plan =
            plan_of((uint32_t)golden_number(one, "batch"), (uint32_t)golden_number(one, "experts"),
                    golden_number(one, "noise_multiplier"), 0, golden_number(one, "delta"));
        double target = golden_number(one, "epsilon");
        cr_assert_eq(dp_sgd_plan_find_steps(&plan, target, UINT64_MAX), DP_SGD_PLAN_OK);
        cr_expect_leq((double)plan.steps, want, "case %zu: more steps than any proof allows", i);
        cr_expect_geq((double)plan.steps, want * (1.0 - 2e-3), "case %zu: %lu", i,
                      (unsigned long)plan.steps);
        cr_expect_leq(plan.epsilon, target);
        seen++;
    }
    cr_assert_gt(seen, 5);
    json_decref(root);
}

Test(dp_sgd_plan, find_steps_is_exact_for_few)
{
    struct dp_sgd_plan plan = plan_of(128, 300, 20.0, 0, 1e-5), next;
    cr_assert_eq(dp_sgd_plan_find_steps(&plan, 1.0, 1000000), DP_SGD_PLAN_OK);
    next = plan;
    next.steps++;
    cr_assert_eq(dp_sgd_plan_account(&next), DP_SGD_PLAN_OK);
    cr_assert(plan.epsilon <= 1.0 && next.epsilon > 1.0, "%lu steps", (unsigned long)plan.steps);
    cr_assert_eq(dp_sgd_plan_find_steps(&plan, 1.0, 10), DP_SGD_PLAN_OK);
    cr_assert_eq(plan.steps, 10);
}

Test(dp_sgd_plan, infeasible_leaves_the_plan_alone)
{
    struct dp_sgd_plan plan = plan_of(300, 300, 0.5, 7, 1e-5);
    cr_assert_eq(dp_sgd_plan_find_steps(&plan, 0.1, 1000), DP_SGD_PLAN_INFEASIBLE);
    cr_assert_eq(plan.steps, 7);
    plan.steps = 1000000000;
    cr_assert_eq(dp_sgd_plan_find_noise(&plan, 1e-4), DP_SGD_PLAN_INFEASIBLE);
    cr_assert_eq(plan.noise_multiplier, 0.5);
}

Test(dp_sgd_plan, bad_arguments)
{
    const struct dp_sgd_plan good = plan_of(30, 300, 1.0, 10, 1e-5);
    struct dp_sgd_plan bad[16];
    size_t n = sizeof bad / sizeof bad[0];
    for (size_t i = 0; i < n; i++)
        bad[i] = good;
    bad[0].sampling_rate = NAN;
    bad[1].sampling_rate = 0.2; /* not batch / experts */
    bad[2].sampling_rate = 0.0;
    bad[3] = plan_of(301, 300, 1.0, 10, 1e-5);
    bad[4].noise_multiplier = NAN;
    bad[5].noise_multiplier = 0.0;
    bad[6].noise_multiplier = -1.0;
    bad[7].noise_multiplier = INFINITY;
    bad[8].clip_norm = 0.0;
    bad[9].clip_norm = NAN;
    bad[10].batch_size = 0;
    bad[11].nominal_experts = 0;
    bad[12].steps = 0;
    bad[13].delta = 0.0;
    bad[14].delta = 1.0;
    bad[15].delta = NAN;
    double epsilon = -1.0;
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(dp_sgd_plan_account(&bad[i]), DP_SGD_PLAN_BAD, "account %zu", i);
        cr_expect_eq(dp_sgd_plan_epsilon_after(&bad[i], 0, &epsilon), DP_SGD_PLAN_BAD);
        cr_expect_eq(bad[i].epsilon, 0.0);
    }
    static const double targets[] = {0.0, -1.0, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        struct dp_sgd_plan plan = good;
        cr_expect_eq(dp_sgd_plan_find_noise(&plan, targets[i]), DP_SGD_PLAN_BAD);
        cr_expect_eq(dp_sgd_plan_find_steps(&plan, targets[i], 100), DP_SGD_PLAN_BAD);
    }
    struct dp_sgd_plan plan = good;
    cr_expect_eq(dp_sgd_plan_find_steps(&plan, 1.0, 0), DP_SGD_PLAN_BAD);
    cr_expect_eq(dp_sgd_plan_epsilon_after(&good, 11, &epsilon), DP_SGD_PLAN_BAD);
    cr_expect_eq(epsilon, -1.0);
}

Test(dp_sgd_plan, epsilon_grows_with_the_steps_done)
{
    struct dp_sgd_plan plan = plan_of(128, 3000, 5.0, 2000, 1e-5);
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
    static const uint64_t steps[] = {0, 1, 10, 100, 500, 1000, 1990, 1999, 2000};
    double last = -1.0, now;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        cr_assert_eq(dp_sgd_plan_epsilon_after(&plan, steps[i], &now), DP_SGD_PLAN_OK);
        cr_assert(now >= last && now <= plan.epsilon, "%lu steps", (unsigned long)steps[i]);
        cr_assert(steps[i] ? now >= 0.0 : now == 0.0);
        last = now;
    }
    cr_assert_eq(now, plan.epsilon);
}

Test(dp_sgd_plan, the_sum_is_noised_and_divided_by_the_nominal_batch)
{
    enum { N = 100000 };
    struct dp_sgd_plan plan = plan_of(50, 1000, 3.0, 10, 1e-5);
    plan.clip_norm = 0.7;
    float *sum = malloc(N * sizeof *sum);
    double *sample = malloc(N * sizeof *sample);
    struct noise_source *noise = golden_noise(60);
    for (int i = 0; i < N; i++)
        sum[i] = 10.0f;
    dp_sgd_plan_finish_sum(&plan, noise, sum, N);
    for (int i = 0; i < N; i++)
        sample[i] = ((double)sum[i] * 50.0 - 10.0) / (3.0 * 0.7);
    cr_assert_lt(golden_ks(sample, N, golden_normal_cdf), KS_LIMIT);
    noise_source_free(noise);
    free(sum);
    free(sample);
}

Test(dp_sgd_plan, batches_are_drawn_at_the_accounted_rate)
{
    struct dp_sgd_plan plan = plan_of(40, 400, 1.0, 10, 1e-5);
    struct noise_source *noise = golden_noise(61);
    uint32_t chosen[500];
    double total = 0, squares = 0;
    enum { ROUNDS = 20000 };
    for (int r = 0; r < ROUNDS; r++) {
        double count = dp_sgd_plan_draw_batch(&plan, noise, 500, chosen);
        total += count;
        squares += count * count;
    }
    /* 500 slots at 0.1: mean 50, variance 45 */
    double mean = total / ROUNDS, variance = squares / ROUNDS - mean * mean;
    cr_assert_lt(golden_z(mean, 50.0, sqrt(45.0 / ROUNDS)), Z_LIMIT, "mean %g", mean);
    cr_assert_lt(golden_z(variance, 45.0, 45.0 * sqrt(2.0 / ROUNDS)), Z_LIMIT, "variance %g",
                 variance);
    noise_source_free(noise);
}

/* ---- with a release before the steps */

static struct composition_part stable_runs(double epsilon, double delta, uint64_t runs)
{
    return (struct composition_part){
        .mechanism = {.kind = MECHANISM_EPSILON_DELTA, .pair = {epsilon, delta}}, .times = runs};
}

/* Runs of the sparse vector and the steps in one distribution: the oracle's greatest numbers of
 * steps (own contour integration and grid, see joint.json), 10 times those of adding budgets. */
Test(dp_sgd_plan, steps_after_a_release_are_composed_jointly, .timeout = 600)
{
    static const struct {
        uint32_t batch, runs;
        double noise, run_epsilon, run_delta, target, steps;
    } cases[] = {{128, 25, 40, 0.1787247349383688, 6e-6, 10.0, 3793411},
                 {64, 62, 20, 0.08511774013218082, 2.4193548387096776e-06, 7.5, 2460714}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dp_sgd_plan plan = plan_of(cases[i].batch, 3000, cases[i].noise, 1, 1.0 / 3000.0);
        plan.before = stable_runs(cases[i].run_epsilon, cases[i].run_delta, cases[i].runs);
        cr_assert_eq(dp_sgd_plan_find_steps(&plan, cases[i].target, UINT64_MAX), DP_SGD_PLAN_OK);
        cr_expect_leq((double)plan.steps, cases[i].steps * 1.0001);
        cr_expect_geq((double)plan.steps, cases[i].steps * 0.997);
        cr_expect(plan.epsilon <= cases[i].target && plan.epsilon_lower > 0.99 * cases[i].target);
    }
}

Test(dp_sgd_plan, a_release_before_is_paid_for_at_every_step)
{
    struct dp_sgd_plan plan = plan_of(30, 300, 2.0, 200, 1e-5);
    double alone, none, some;
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
    alone = plan.epsilon;
    plan.before = stable_runs(0.3, 1e-7, 10);
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
    cr_expect(plan.epsilon > alone && plan.epsilon_lower > alone && plan.epsilon < alone + 3.0);
    cr_expect_geq(plan.epsilon_renyi, plan.epsilon_lower);
    cr_assert_eq(dp_sgd_plan_epsilon_after(&plan, 0, &none), DP_SGD_PLAN_OK);
    cr_assert_eq(dp_sgd_plan_epsilon_after(&plan, 100, &some), DP_SGD_PLAN_OK);
    cr_expect(none > 1.0 && none < some && some < plan.epsilon, "%g %g", none, some);

    struct dp_sgd_plan nothing_else = plan; /* the release alone */
    nothing_else.steps = 0;
    cr_assert_eq(dp_sgd_plan_find_noise(&nothing_else, none * 1.001), DP_SGD_PLAN_OK);
    cr_expect_float_eq(nothing_else.epsilon, none, 1e-3);
    cr_expect_eq(nothing_else.noise_multiplier, 0.0);
    cr_expect_eq(dp_sgd_plan_find_noise(&nothing_else, 0.5), DP_SGD_PLAN_INFEASIBLE);
    cr_assert_eq(dp_sgd_plan_find_noise(&plan, 5.0), DP_SGD_PLAN_OK);
    cr_expect(plan.epsilon <= 5.0 && plan.epsilon > 4.9);
    cr_expect_eq(dp_sgd_plan_find_noise(&plan, 0.99 * none), DP_SGD_PLAN_INFEASIBLE);
    plan.before.mechanism.pair.delta = 2.0;
    cr_expect_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_BAD);
}

/* Gaussians before and no step: the closed form. */
Test(dp_sgd_plan, gaussians_before_have_a_closed_form)
{
    struct dp_sgd_plan plan = plan_of(1, 300, 0.0, 0, 1e-5);
    plan.before = (struct composition_part){
        .mechanism = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, 50.0}},
        .times = 1000};
    cr_assert_eq(dp_sgd_plan_account(&plan), DP_SGD_PLAN_OK);
    cr_expect_float_eq(plan.epsilon, 2.59, 0.01);
}
