/* The accountant whose figures are charged, against oracles: one mechanism and many together. */
#include "algos/privacy/accounting/accountant_pld.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tests/unit/privacy/golden.h"
#include "tests/unit/privacy/plans.h"

#define GAP 1e-3 /* asked of every figure here */

static struct privacy_interval epsilon_of(const struct composition *composition, double delta)
{
    struct privacy_interval out = {NAN, NAN};
    cr_assert_eq(accountant_epsilon(&accountant_pld, composition, delta, &out), ACCOUNTANT_OK);
    cr_assert(out.lower >= 0.0 && out.lower <= out.upper, "[%g %g]", out.lower, out.upper);
    return out;
}

static struct privacy_interval delta_of(const struct composition *composition, double epsilon)
{
    struct privacy_interval out = {NAN, NAN};
    cr_assert_eq(accountant_delta(&accountant_pld, composition, epsilon, &out), ACCOUNTANT_OK);
    cr_assert(out.lower >= 0.0 && out.lower <= out.upper && out.upper <= 1.0, "[%g %g]", out.lower,
              out.upper);
    return out;
}

/* True when GOT encloses WANT, known to SLACK, and is narrow. */
static bool fits(struct privacy_interval got, double want, double slack)
{
    return got.lower <= want * (1.0 + slack) && got.upper >= want * (1.0 - slack) &&
           got.upper - got.lower <= GAP * want + 1e-15;
}

/* Epsilon at DELTA must be WANT, and delta at that epsilon DELTA. */
static void expect(const struct composition *composition, double delta, double want, double slack,
                   const char *what, size_t row)
{
    struct privacy_interval got = epsilon_of(composition, delta);
    cr_expect(fits(got, want, slack), "%s %zu: [%.12g %.12g] for %.12g", what, row, got.lower,
              got.upper, want);
    struct privacy_interval back = delta_of(composition, got.upper);
    cr_expect_leq(back.lower, delta * (1.0 + 1e-9), "%s %zu: delta at upper", what, row);
    back = delta_of(composition, got.lower);
    cr_expect(back.upper >= delta * (1.0 - 1e-9) || got.lower == 0.0, "%s %zu: delta at lower",
              what, row);
}

static void expect_one(struct mechanism mechanism, uint64_t times, double delta, double want,
                       double slack, const char *what, size_t row)
{
    struct composition composition = {0};
    plan_add(&composition, mechanism, times);
    expect(&composition, delta, want, slack, what, row);
    composition_clear(&composition);
}

Test(accountant_pld, subsampled_gaussian_oracles, .timeout = 600)
{
    json_t *root = golden_load("subsampled_gaussian.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one) expect_one(
        plan_gaussian(golden_number(one, "sampling_prob"), golden_number(one, "noise_multiplier")),
        (uint64_t)golden_number(one, "steps"), golden_number(one, "delta"),
        golden_number(one, "epsilon_exact"), 1e-12, "subsampled", i);
    cr_assert_eq(i, 48);
    json_decref(root);
}

Test(accountant_pld, gaussian_oracles, .timeout = 600)
{
    json_t *root = golden_load("gaussian.json"), *one, *run, *at;
    size_t i, j;
    json_array_foreach(json_object_get(root, "eps_for_sigma_delta"), i, one)
        expect_one(plan_gaussian(1.0, golden_number(one, "sigma")), 1, golden_number(one, "delta"),
                   golden_number(one, "epsilon"), 1e-12, "gaussian", i);
    cr_assert_eq(i, 78);
    json_array_foreach(json_object_get(root, "composition"), i, one)
    {
        struct composition composition = {0};
        json_array_foreach(json_object_get(one, "noise"), j, run)
            plan_add(&composition, plan_gaussian(1.0, golden_number(run, "noise_multiplier")),
                     (uint64_t)golden_number(run, "times"));
        json_array_foreach(json_object_get(one, "at"), j, at)
        {
            double epsilon = golden_number(at, "epsilon"), delta = golden_number(at, "delta");
            if (delta == 0.0) { /* less than the oracle can say */
                cr_expect_leq(delta_of(&composition, epsilon).upper, 1e-60);
                continue;
            }
            struct privacy_interval got = epsilon_of(&composition, delta);
            cr_expect(fits(got, epsilon, 1e-12), "gaussians %zu at %g: [%g %g] for %g", i, delta,
                      got.lower, got.upper, epsilon);
            if (epsilon == 0.0) /* delta is more than enough */
                continue;
            got = delta_of(&composition, epsilon);
            cr_expect(fits(got, delta, 1e-11), "gaussians %zu at %g: [%g %g] for %g", i, epsilon,
                      got.lower, got.upper, delta);
        }
        composition_clear(&composition);
    }
    cr_assert_eq(i, 10);
    json_decref(root);
}

Test(accountant_pld, pairs, .timeout = 600)
{
    json_t *root = golden_load("composition.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "pairs"), i, one)
    {
        struct mechanism each =
            plan_pair(golden_number(one, "epsilon"), golden_number(one, "delta"));
        uint64_t times = (uint64_t)golden_number(one, "times");
        if (!json_is_null(json_object_get(one, "optimal"))) {
            expect_one(each, times, golden_number(one, "at"), golden_number(one, "optimal"), 1e-11,
                       "pair", i);
            continue;
        }
        struct composition composition = {0};
        plan_add(&composition, each, times);
        struct privacy_interval got = epsilon_of(&composition, golden_number(one, "at"));
        cr_expect(isinf(got.lower) && isinf(got.upper), "pair %zu tells too much outright", i);
        composition_clear(&composition);
    }
    cr_assert_eq(i, 124);
    json_decref(root);
}

Test(accountant_pld, response_and_laplace, .timeout = 600)
{
    json_t *root = golden_load("composition.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "response"), i, one)
    {
        double flip = 1.0 / (1.0 + exp(golden_number(one, "epsilon")));
        expect_one(plan_response(2.0 * flip, 2), (uint64_t)golden_number(one, "times"),
                   golden_number(one, "at"), golden_number(one, "exact"), 1e-11, "response", i);
    }
    cr_assert_eq(i, 32);
    json_array_foreach(json_object_get(root, "laplace"), i, one)
    {
        double lower = golden_number(one, "lower"), upper = golden_number(one, "upper");
        expect_one(plan_laplace(1.0 / golden_number(one, "epsilon")),
                   (uint64_t)golden_number(one, "times"), golden_number(one, "at"),
                   0.5 * (lower + upper), 0.5 * (upper - lower) / upper + 1e-12, "laplace", i);
    }
    cr_assert_eq(i, 60);
    json_decref(root);
}

Test(accountant_pld, joint_oracles, .timeout = 600)
{
    json_t *root = golden_load("joint.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        struct composition composition = {0};
        double rate = golden_number(one, "batch") / golden_number(one, "experts");
        plan_add(&composition, plan_gaussian(rate, golden_number(one, "noise_multiplier")),
                 (uint64_t)golden_number(one, "steps"));
        plan_add(&composition,
                 plan_pair(golden_number(one, "pair_epsilon"), golden_number(one, "pair_delta")),
                 (uint64_t)golden_number(one, "pairs"));
        expect(&composition, golden_number(one, "delta"), golden_number(one, "epsilon"), 1e-9,
               "joint", i);
        composition_clear(&composition);
    }
    cr_assert_eq(i, 20);
    json_decref(root);
}
