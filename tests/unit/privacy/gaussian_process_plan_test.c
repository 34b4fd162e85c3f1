/* From a class to its noise: published figures, bounds that hold, and refusals. */
#include "algos/privacy/functions/gaussian_process_plan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "tests/unit/privacy/golden.h"
#include "tests/unit/privacy/kernel_norm.h"

static const struct gaussian_process_plan usual = {.value_limit = 1.0,
                                                   .lipschitz = 5.0,
                                                   .shards = 100,
                                                   .actions = 2,
                                                   .bits = 20,
                                                   .epsilon = 0.9,
                                                   .delta = 1e-4};

/* At least GOLDEN, for it is charged, and hardly more. */
static void expect_just_above(double value, double golden, const char *what)
{
    cr_expect(value >= golden * (1.0 - 1e-14) && value <= golden * (1.0 + 1e-9),
              "%s: %.17g for %.17g", what, value, golden);
}

Test(gaussian_process_plan, golden_class_diameters)
{
    json_t *root = golden_load("gaussian_process.json"), *item;
    size_t i;
    json_array_foreach(json_object_get(root, "class_diameter_sigma"), i, item)
    {
        struct gaussian_process_plan plan = {.value_limit = golden_number(item, "V"),
                                             .lipschitz = golden_number(item, "Lipschitz"),
                                             .shards = (uint32_t)golden_number(item, "shards"),
                                             .actions = (uint32_t)golden_number(item, "actions"),
                                             .bits = 1,
                                             .epsilon = golden_number(item, "eps"),
                                             .delta = golden_number(item, "delta")};
        cr_assert_null(gaussian_process_plan_complete(&plan));
        cr_expect_float_eq(plan.beta, golden_number(item, "beta_opt"), 1e-15);
        expect_just_above(plan.sensitivity, golden_number(item, "sensitivity_H"), "sensitivity");
        expect_just_above(plan.sigma, golden_number(item, "sigma") * (1.0 - 1e-11), "sigma");
        cr_expect_float_eq(plan.mu, golden_number(item, "mu"), 1e-11);
        cr_expect_float_eq(plan.noise_to_range, plan.sigma / plan.value_limit, 1e-15);
        /* what is claimed is what that noise buys */
        cr_expect_leq(exp(gaussian_dp_log_delta(plan.mu, plan.epsilon)), plan.delta * (1 + 1e-9));
    }
    cr_assert_geq(i, 6);
    json_decref(root);
}

Test(gaussian_process_plan, a_joint_bound_needs_less)
{
    struct gaussian_process_plan each = usual, joint = usual, single = usual;
    joint.joint = single.joint = true;
    each.bits = joint.bits = single.bits = 1;
    cr_assert_null(gaussian_process_plan_complete(&each));
    cr_assert_null(gaussian_process_plan_complete(&joint));
    expect_just_above(each.sensitivity, 0.02 * sqrt(2.0 * 6.0), "each");
    expect_just_above(joint.sensitivity, 0.02 * sqrt(2.0 + 5.0 * sqrt(2.0)), "joint");
    cr_expect_float_eq(joint.beta, 5.0 / sqrt(2.0), 1e-15);
    each.actions = single.actions = 1;
    cr_assert_null(gaussian_process_plan_complete(&each));
    cr_assert_null(gaussian_process_plan_complete(&single));
    cr_expect_float_eq(each.sigma, single.sigma, 1e-14, "one action: the same");
}

Test(gaussian_process_plan, golden_gaussian_figures)
{
    json_t *root = golden_load("gaussian_process.json"), *item;
    size_t i;
    json_array_foreach(json_object_get(root, "analytic_gaussian"), i, item)
    {
        double epsilon = golden_number(item, "eps"), delta = golden_number(item, "delta");
        double mu = golden_number(item, "mu_max");
        cr_expect_float_eq(gaussian_dp_mu_for(epsilon, delta), mu, 1e-11 * mu);
        double sigma = golden_number(item, "sigma_for_sensitivity_1");
        cr_expect_float_eq(gaussian_dp_sigma(1.0, epsilon, delta), sigma, 1e-11 * sigma);
    }
    cr_assert_geq(i, 10);
    json_array_foreach(json_object_get(root, "gdp_delta"), i, item)
    {
        double delta = golden_number(item, "delta");
        double found =
            exp(gaussian_dp_log_delta(golden_number(item, "mu"), golden_number(item, "eps")));
        cr_expect_float_eq(found, delta, 1e-11 * delta);
    }
    cr_assert_geq(i, 7);
    json_decref(root);
}

Test(gaussian_process_plan, its_beta_needs_the_least_noise)
{
    double amplitude = 0.02, slope = 0.1;
    double best = gaussian_process_class_norm_squared(slope / amplitude, amplitude, slope);
    for (double factor = 0.1; factor < 10.0; factor *= 1.3)
        cr_expect_geq(
            gaussian_process_class_norm_squared(factor * slope / amplitude, amplitude, slope),
            best * (1.0 - 1e-15));
}

Test(gaussian_process_plan, asks_for_more_noise_when_more_is_asked_of_it)
{
    struct gaussian_process_plan base = usual;
    cr_assert_null(gaussian_process_plan_complete(&base));
    struct gaussian_process_plan more[6];
    for (int i = 0; i < 6; i++)
        more[i] = usual;
    more[0].lipschitz *= 1.1;
    more[1].actions += 1;
    more[2].shards -= 1;
    more[3].epsilon *= 0.9;
    more[4].delta *= 0.9;
    more[5].evaluation_error = 1e-9;
    for (int i = 0; i < 6; i++) {
        cr_assert_null(gaussian_process_plan_complete(&more[i]));
        cr_expect_gt(more[i].sigma, base.sigma, "change %d", i);
    }
    /* one shard hides nobody: noise beyond the range */
    struct gaussian_process_plan alone = usual;
    alone.shards = 1;
    cr_assert_null(gaussian_process_plan_complete(&alone));
    cr_expect_gt(alone.noise_to_range, 20.0);
    /* arithmetic in double costs nothing to speak of, even at 2^24 points */
    struct gaussian_process_plan fine = usual;
    fine.bits = 24;
    fine.evaluation_error = 1e-13;
    cr_assert_null(gaussian_process_plan_complete(&fine));
    cr_expect(fine.rounding > base.rounding && fine.rounding < 1e-3 * fine.sensitivity, "%g",
              fine.rounding);
}

Test(gaussian_process_plan, rounding_is_bounded_and_nearly_attained)
{
    enum { BITS = 8, POINTS = (1 << BITS) + 1 };
    struct noise_source *noise = golden_noise(670);
    double x[POINTS], f[POINTS];
    for (int i = 0; i < POINTS; i++)
        x[i] = (double)i / (POINTS - 1);
    for (int round = 0; round < 60; round++) {
        double beta = exp(2.0 * noise_normal(noise)), most = 1e-3;
        double bound = gaussian_process_rounding(beta, BITS, most);
        for (int i = 0; i < POINTS; i++)
            f[i] = most * (round % 2 ? 2.0 * noise_uniform(noise) - 1.0 : i % 2 ? 1.0 : -1.0);
        double norm = sqrt(gaussian_process_norm_squared(beta, x, f, POINTS));
        cr_expect_leq(norm, bound, "beta %g", beta);
        if (round % 2 == 0)
            cr_expect_geq(norm, 0.99 * bound, "beta %g: %g of %g", beta, norm, bound);
    }
    noise_source_free(noise);
}

Test(gaussian_process_plan, refuses)
{
    static const double none = NAN;
    struct gaussian_process_plan bad[16];
    size_t count = sizeof bad / sizeof bad[0];
    for (size_t i = 0; i < count; i++)
        bad[i] = usual;
    bad[0].value_limit = 0.0;
    bad[1].value_limit = none;
    bad[2].lipschitz = 0.0;
    bad[3].lipschitz = INFINITY;
    bad[4].lipschitz = none;
    bad[5].shards = 0;
    bad[6].actions = 0;
    bad[7].bits = 0;
    bad[8].bits = 25;
    bad[9].evaluation_error = -1e-9;
    bad[10].evaluation_error = none;
    bad[11].epsilon = 0.0;
    bad[12].epsilon = none;
    bad[13].delta = 0.0;
    bad[14].delta = 1.0;
    bad[15].delta = none;
    for (size_t i = 0; i < count; i++)
        cr_expect_not_null(gaussian_process_plan_complete(&bad[i]), "case %zu", i);
}
