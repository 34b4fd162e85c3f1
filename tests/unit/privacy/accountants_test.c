/* Renyi, optimal, advanced and basic composition: oracles, agreement, order. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_renyi.h"
#include "tests/unit/privacy/golden.h"
#include "tests/unit/privacy/plans.h"

#define CLOSE(got, want, tolerance)                                                                \
    cr_expect_float_eq((got) / (want), 1.0, tolerance, "row %zu: %.17g for %.17g", i, got, want)

Test(accountants, pairs)
{
    json_t *root = golden_load("composition.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "pairs"), i, one)
    {
        struct mechanism each =
            plan_pair(golden_number(one, "epsilon"), golden_number(one, "delta"));
        uint64_t times = (uint64_t)golden_number(one, "times");
        double at = golden_number(one, "at");
        struct privacy_interval optimal =
            plan_price(&accountant_optimal_composition, each, times, at);
        struct privacy_interval advanced = plan_price(&accountant_advanced, each, times, at);
        struct privacy_interval basic = plan_price(&accountant_basic, each, times, at);
        struct privacy_interval renyi = plan_price(&accountant_renyi, each, times, at);
        if (json_is_null(json_object_get(one, "optimal"))) {
            cr_expect(isinf(optimal.upper) && isinf(renyi.upper));
        } else {
            double want = golden_number(one, "optimal");
            cr_expect(optimal.lower <= want * (1.0 + 2e-12) &&
                          optimal.upper >= want * (1.0 - 2e-12),
                      "row %zu: [%.17g, %.17g] for %.17g", i, optimal.lower, optimal.upper, want);
            CLOSE(optimal.upper, want, 1e-8);
            cr_expect_geq(renyi.upper, want * (1.0 - 1e-12), "row %zu", i);
            cr_expect_geq(basic.upper, want * (1.0 - 1e-12), "row %zu", i);
        }
        if (json_is_null(json_object_get(one, "advanced")))
            cr_expect(isinf(advanced.upper));
        else
            CLOSE(advanced.upper, golden_number(one, "advanced"), 1e-12);
        if (isfinite(basic.upper)) /* else the deltas do not fit */
            CLOSE(basic.upper, golden_number(one, "basic"), 1e-12);
        else
            cr_expect_gt((double)times * each.pair.delta, at);
    }
    cr_assert_eq(i, 124);
    json_decref(root);
}

Test(accountants, renyi_oracles)
{
    json_t *root = golden_load("subsampled_gaussian.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        struct mechanism step = plan_gaussian(golden_number(one, "sampling_prob"),
                                              golden_number(one, "noise_multiplier"));
        struct privacy_interval got =
            plan_price(&accountant_renyi, step, (uint64_t)golden_number(one, "steps"),
                       golden_number(one, "delta"));
        cr_expect(got.upper >= golden_number(one, "epsilon_exact") * (1.0 - 1e-12));
        cr_expect(got.upper <= golden_number(one, "rdp_epsilon") * (1.0 + 1e-8), "row %zu", i);
    }
    cr_assert_eq(i, 48);
    json_decref(root);
    root = golden_load("dirichlet.json");
    json_array_foreach(json_object_get(root, "eps_rdp"), i, one)
    {
        struct mechanism step = {.kind = MECHANISM_DIRICHLET,
                                 .dirichlet = {.concentration = golden_number(one, "k"),
                                               .min_probability = golden_number(one, "eta"),
                                               .sensitivity = golden_number(one, "Delta"),
                                               .actions = (uint32_t)golden_number(one, "m")}};
        if (mechanism_problem(&step)) /* a concentration that is not worth its price */
            continue;
        struct privacy_interval got =
            plan_price(&accountant_renyi, step, (uint64_t)golden_number(one, "n"),
                       golden_number(one, "delta"));
        double want = golden_number(one, "eps_best_over_orders");
        CLOSE(got.upper, want, 1e-3);
    }
    cr_assert_gt(i, 5);
    json_decref(root);
}

static struct mechanism any(struct noise_source *noise)
{
    switch (noise_below(noise, 4)) {
    case 0: return plan_gaussian(1.0, 0.5 + 4.0 * noise_uniform(noise));
    case 1: return plan_laplace(0.5 + 4.0 * noise_uniform(noise));
    case 2:
        return plan_response(0.05 + 0.9 * noise_uniform(noise),
                             2 + (uint32_t)noise_below(noise, 5));
    default: return plan_pair(2.0 * noise_uniform(noise), 0.0);
    }
}

/* Over random plans: what the accountants that know a mechanism say never contradicts. */
static double array_number(const json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

/* Reads a part of a golden price. Returns what its losses leave to chance, as a logarithm. */
static double add_part(struct composition *plan, const json_t *part)
{
    const json_t *gaussian = json_object_get(part, "gaussian"),
                 *pair = json_object_get(part, "pair");
    if (gaussian)
        plan_add(plan, plan_gaussian(array_number(gaussian, 0), array_number(gaussian, 1)), 1);
    else if (pair)
        plan_add(plan, plan_pair(array_number(pair, 0), array_number(pair, 1)), 1);
    else
        plan_add(plan, plan_laplace(golden_number(part, "laplace")), 1);
    return pair ? log1p(-array_number(pair, 1)) : 0.0;
}

/* What a Renyi account pays is an upper bound: near order 1, too, where the mass that pairs leave
 * out weighs most. It is never negative. */
Test(accountants, renyi_prices_are_upper_bounds)
{
    json_t *root = golden_load("renyi_price.json"), *one, *part;
    size_t i, j;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        struct composition plan = {0};
        struct renyi_price price;
        double order = golden_number(one, "order"), want = golden_number(one, "divergence");
        double left = 0;
        json_array_foreach(json_object_get(one, "parts"), j, part) left += add_part(&plan, part);
        cr_assert(accountant_renyi_price(&plan, order, &price), "row %zu", i);
        cr_expect_geq(price.divergence, fmax(0.0, want), "row %zu: %.17g", i, price.divergence);
        double slack = 1e-8 * (1.0 + fabs(want) - left / (order - 1.0));
        cr_expect_leq(price.divergence, fmax(0.0, want) + slack, "row %zu: %.17g", i,
                      price.divergence);
        cr_expect(price.delta >= -expm1(left) && price.delta <= -expm1(left) * (1.0 + 1e-11),
                  "row %zu: %.17g", i, price.delta);
        composition_clear(&plan);
    }
    cr_assert_eq(i, 26);
    json_decref(root);
}

Test(accountants, never_contradict)
{
    static const struct accountant *const all[] = {&accountant_gdp, &accountant_optimal_composition,
                                                   &accountant_renyi, &accountant_basic,
                                                   &accountant_advanced};
    struct noise_source *noise = golden_noise(64);
    unsigned compared = 0;
    for (int i = 0; i < 300; i++) {
        struct composition plan = {0};
        struct mechanism first = any(noise);
        plan_add(&plan, first, 1 + noise_below(noise, 20));
        if (i % 2)
            plan_add(&plan, i % 4 == 1 ? plan_gaussian(1.0, 2.0) : any(noise),
                     1 + noise_below(noise, 5));
        double delta = pow(10.0, -1.0 - 7.0 * noise_uniform(noise));
        struct privacy_interval exact, other, there;
        if (accountant_epsilon(&accountant_exact, &plan, delta, &exact) == ACCOUNTANT_OK) {
            for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
                enum accountant_status status = accountant_epsilon(all[k], &plan, delta, &other);
                if (status == ACCOUNTANT_UNSUPPORTED)
                    continue;
                cr_assert_eq(status, ACCOUNTANT_OK, "%s", all[k]->name);
                compared++;
                double room = 1e-11 * (1.0 + exact.upper);
                cr_expect_leq(other.lower, exact.upper + room, "%s", all[k]->name);
                cr_expect_geq(other.upper, exact.upper - room, "%s", all[k]->name);
                if (k < 2) /* closed forms */
                    cr_expect_leq(other.upper - other.lower, 1e-9 * (1.0 + exact.upper));
                /* delta at that epsilon is delta again, or less */
                cr_assert_eq(accountant_delta(all[k], &plan, other.upper, &there), ACCOUNTANT_OK);
                cr_expect_leq(there.lower, delta, "%s", all[k]->name);
                cr_expect_leq(there.upper, delta * (1.0 + 1e-4), "%s: %g", all[k]->name,
                              there.upper / delta - 1.0);
            }
        }
        composition_clear(&plan);
    }
    cr_assert_gt(compared, 500);
    noise_source_free(noise);
}

/* Less noise and more runs never cost less. */
Test(accountants, monotone)
{
    static const struct accountant *const all[] = {&accountant_gdp, &accountant_renyi};
    struct noise_source *noise = golden_noise(65);
    for (int i = 0; i < 100; i++) {
        double s = 0.5 + 5.0 * noise_uniform(noise);
        uint64_t times = 1 + noise_below(noise, 1000);
        double delta = pow(10.0, -1.0 - 9.0 * noise_uniform(noise));
        for (size_t k = 0; k < 2; k++) {
            double here = plan_price(all[k], plan_gaussian(1.0, s), times, delta).upper;
            cr_expect_geq(plan_price(all[k], plan_gaussian(1.0, s), times + 1, delta).upper, here);
            cr_expect_leq(plan_price(all[k], plan_gaussian(1.0, 1.01 * s), times, delta).upper,
                          here);
            cr_expect_geq(plan_price(all[k], plan_gaussian(1.0, s), times, 0.9 * delta).upper,
                          here);
        }
        double step = plan_price(&accountant_renyi, plan_gaussian(0.02, s), times, delta).upper;
        cr_expect_geq(plan_price(&accountant_renyi, plan_gaussian(0.02, s), times + 1, delta).upper,
                      step);
        cr_expect_leq(
            plan_price(&accountant_renyi, plan_gaussian(0.02, 1.01 * s), times, delta).upper, step);
        double each = 2.0 * noise_uniform(noise);
        double most =
            plan_price(&accountant_optimal_composition, plan_pair(each, 0.0), times, delta).upper;
        cr_expect_geq(
            plan_price(&accountant_optimal_composition, plan_pair(each, 0.0), times + 1, delta)
                .upper,
            most * (1.0 - 1e-9));
        cr_expect_geq(
            plan_price(&accountant_optimal_composition, plan_pair(1.01 * each, 0.0), times, delta)
                .upper,
            most * (1.0 - 1e-9));
    }
    noise_source_free(noise);
}

/* A pair at its own delta is itself, for whoever adds up; unequal pairs are listed. */
Test(accountants, edges)
{
    size_t i = 0;
    struct privacy_interval one = plan_price(&accountant_basic, plan_pair(1.0, 1e-5), 1, 1e-5);
    CLOSE(one.upper, 1.0, 1e-14);
    one = plan_price(&accountant_optimal_composition, plan_pair(1.0, 1e-5), 1, 1e-5);
    CLOSE(one.upper, 1.0, 1e-13);
    one = plan_price(&accountant_optimal_composition, plan_pair(0.0, 1e-6), 5, 1e-5);
    cr_expect_eq(one.lower, 0.0);
    cr_expect_leq(one.upper, 1e-12);
    for (double huge = 1e10; huge < 1e308; huge *= 1e70) {
        one = plan_price(&accountant_optimal_composition, plan_pair(huge, 0.0), 1000, 1e-5);
        cr_expect_geq(one.upper, 999.0 * huge); /* or out of reach */
    }
    struct composition plan = {0};
    plan_add(&plan, plan_pair(0.5, 1e-7), 3);
    plan_add(&plan, plan_pair(0.3, 0.0), 4);
    plan_add(&plan, plan_response(0.4, 3), 2);
    struct privacy_interval there;
    cr_assert_eq(accountant_epsilon(&accountant_optimal_composition, &plan, 1e-4, &one),
                 ACCOUNTANT_OK);
    cr_assert_eq(accountant_delta(&accountant_optimal_composition, &plan, one.upper, &there),
                 ACCOUNTANT_OK);
    CLOSE(there.upper, 1e-4, 1e-9);
    for (int k = 0; k < 40; k++)
        plan_add(&plan, plan_pair(0.01 * (k + 1), 0.0), 7);
    cr_assert_eq(accountant_epsilon(&accountant_optimal_composition, &plan, 1e-4, &one),
                 ACCOUNTANT_OUT_OF_REACH);
    plan_add(&plan, plan_gaussian(1.0, 1.0), 1);
    cr_assert_eq(accountant_epsilon(&accountant_optimal_composition, &plan, 1e-4, &one),
                 ACCOUNTANT_UNSUPPORTED);
    cr_assert_eq(accountant_epsilon(&accountant_advanced, &plan, 1e-4, &one),
                 ACCOUNTANT_UNSUPPORTED);
    cr_assert_eq(accountant_epsilon(&accountant_gdp, &plan, 1e-4, &one), ACCOUNTANT_UNSUPPORTED);
    composition_clear(&plan);
}

Test(accountants, refusals)
{
    static const struct accountant *const all[] = {
        &accountant_exact,    &accountant_renyi, &accountant_gdp, &accountant_optimal_composition,
        &accountant_advanced, &accountant_basic};
    static const double deltas[] = {0.0, 1.0, -1.0, NAN, INFINITY};
    for (size_t k = 0; k < 6; k++) {
        const struct accountant *accountant = all[k];
        struct composition plan = {0};
        struct privacy_interval out;
        cr_expect_eq(accountant_epsilon(accountant, &plan, 1e-5, &out), ACCOUNTANT_BAD);
        cr_expect_eq(accountant_delta(accountant, &plan, 1.0, &out), ACCOUNTANT_BAD);
        plan_add(&plan, k == 2 ? plan_gaussian(1.0, 1.0) : plan_pair(0.1, 0.0), 3);
        for (size_t i = 0; i < 5; i++)
            cr_expect_eq(accountant_epsilon(accountant, &plan, deltas[i], &out), ACCOUNTANT_BAD);
        cr_expect_eq(accountant_delta(accountant, &plan, -1.0, &out), ACCOUNTANT_BAD);
        cr_expect_eq(accountant_delta(accountant, &plan, NAN, &out), ACCOUNTANT_BAD);
        plan.part[0].mechanism.pair.epsilon = NAN;
        cr_expect_eq(accountant_epsilon(accountant, &plan, 1e-5, &out), ACCOUNTANT_BAD, "%s",
                     accountant->name);
        composition_clear(&plan);
    }
}

/* The exact figure lies in the certified interval, whatever is composed. */
Test(accountants, exact_lies_in_the_certificate)
{
    struct noise_source *noise = golden_noise(67);
    unsigned compared = 0;
    for (int i = 0; i < 24; i++) {
        struct composition plan = {0};
        double rate = i % 3 ? pow(10.0, -2.5 * noise_uniform(noise)) : 1.0;
        uint64_t steps = 10 + noise_below(noise, i % 2 ? 20000 : 500);
        double noise_multiplier = 0.7 + 0.5 * rate * sqrt((double)steps) * noise_uniform(noise);
        plan_add(&plan, plan_gaussian(rate, noise_multiplier), steps);
        if (i % 4 == 3)
            plan_add(&plan, any(noise), 1 + noise_below(noise, 10));
        double delta = pow(10.0, -3.0 - 5.0 * noise_uniform(noise));
        struct privacy_interval exact, certified;
        if (accountant_epsilon(&accountant_exact, &plan, delta, &exact) == ACCOUNTANT_OK &&
            accountant_epsilon(&accountant_pld, &plan, delta, &certified) == ACCOUNTANT_OK) {
            compared++;
            double room = 1e-11 * (1.0 + exact.upper);
            cr_expect(certified.lower <= exact.upper + room &&
                          exact.lower - room <= certified.upper,
                      "row %d: %.15g outside [%.15g, %.15g]", i, exact.upper, certified.lower,
                      certified.upper);
            double at = exact.upper;
            cr_assert_eq(accountant_delta(&accountant_exact, &plan, at, &exact), ACCOUNTANT_OK);
            cr_assert_eq(accountant_delta(&accountant_pld, &plan, at, &certified), ACCOUNTANT_OK);
            cr_expect(certified.lower <= exact.upper * (1.0 + 1e-10) &&
                          exact.lower * (1.0 - 1e-10) <= certified.upper,
                      "row %d: %.15g outside [%.15g, %.15g]", i, exact.upper, certified.lower,
                      certified.upper);
        }
        composition_clear(&plan);
    }
    cr_assert_geq(compared, 20);
    noise_source_free(noise);
}
