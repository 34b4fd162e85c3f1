/* Renyi, optimal, advanced and basic composition: oracles, agreement, order, inverse problems. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accountant.h"
#include "algos/privacy/accountant_search.h"
#include "tests/unit/privacy/golden.h"

static struct mechanism gaussian(double rate, double noise)
{
    return (struct mechanism){.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {rate, noise}};
}

static struct mechanism pair(double epsilon, double delta)
{
    return (struct mechanism){.kind = MECHANISM_EPSILON_DELTA, .pair = {epsilon, delta}};
}

static struct mechanism laplace(double noise)
{
    return (struct mechanism){.kind = MECHANISM_LAPLACE, .laplace = {noise}};
}

static struct mechanism response(double noise, uint32_t buckets)
{
    return (struct mechanism){.kind = MECHANISM_RANDOMIZED_RESPONSE, .response = {noise, buckets}};
}

static void add(struct composition *composition, struct mechanism mechanism, uint64_t times)
{
    cr_assert_eq(composition_add(composition, &mechanism, times), COMPOSITION_OK);
}

static struct privacy_interval price(const struct accountant *accountant,
                                     struct mechanism mechanism, uint64_t times, double delta)
{
    struct composition composition = {0};
    struct privacy_interval out = {NAN, NAN};
    add(&composition, mechanism, times);
    enum accountant_status status = accountant->epsilon(&composition, delta, &out);
    composition_clear(&composition);
    if (status == ACCOUNTANT_OUT_OF_REACH)
        return (struct privacy_interval){0.0, INFINITY};
    cr_assert_eq(status, ACCOUNTANT_OK, "%s", accountant->name);
    return out;
}

#define CLOSE(got, want, tolerance)                                                                \
    cr_expect_float_eq((got) / (want), 1.0, tolerance, "row %zu: %.17g for %.17g", i, got, want)

Test(accountants, pairs)
{
    json_t *root = golden_load("composition.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "pairs"), i, one)
    {
        struct mechanism each = pair(golden_number(one, "epsilon"), golden_number(one, "delta"));
        uint64_t times = (uint64_t)golden_number(one, "times");
        double at = golden_number(one, "at");
        struct privacy_interval optimal = price(&accountant_optimal_composition, each, times, at);
        struct privacy_interval advanced = price(&accountant_advanced, each, times, at);
        struct privacy_interval basic = price(&accountant_basic, each, times, at);
        struct privacy_interval renyi = price(&accountant_renyi, each, times, at);
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
        struct mechanism step =
            gaussian(golden_number(one, "sampling_prob"), golden_number(one, "noise_multiplier"));
        struct privacy_interval got =
            price(&accountant_renyi, step, (uint64_t)golden_number(one, "steps"),
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
            price(&accountant_renyi, step, (uint64_t)golden_number(one, "n"),
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
    case 0:
        return gaussian(1.0, 0.5 + 4.0 * noise_uniform(noise));
    case 1:
        return laplace(0.5 + 4.0 * noise_uniform(noise));
    case 2:
        return response(0.05 + 0.9 * noise_uniform(noise), 2 + (uint32_t)noise_below(noise, 5));
    default:
        return pair(2.0 * noise_uniform(noise), 0.0);
    }
}

/* Over random plans: what the accountants that know a mechanism say never contradicts. */
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
        add(&plan, first, 1 + noise_below(noise, 20));
        if (i % 2)
            add(&plan, i % 4 == 1 ? gaussian(1.0, 2.0) : any(noise), 1 + noise_below(noise, 5));
        double delta = pow(10.0, -1.0 - 7.0 * noise_uniform(noise));
        struct privacy_interval exact, other, there;
        if (accountant_exact.epsilon(&plan, delta, &exact) == ACCOUNTANT_OK) {
            for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
                enum accountant_status status = all[k]->epsilon(&plan, delta, &other);
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
                cr_assert_eq(all[k]->delta(&plan, other.upper, &there), ACCOUNTANT_OK);
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
    static const struct accountant *const all[] = {&accountant_gdp, &accountant_renyi,
                                                   &accountant_basic};
    struct noise_source *noise = golden_noise(65);
    for (int i = 0; i < 100; i++) {
        double s = 0.5 + 5.0 * noise_uniform(noise);
        uint64_t times = 1 + noise_below(noise, 1000);
        double delta = pow(10.0, -1.0 - 9.0 * noise_uniform(noise));
        for (size_t k = 0; k < 3; k++) {
            double here = price(all[k], gaussian(1.0, s), times, delta).upper;
            cr_expect_geq(price(all[k], gaussian(1.0, s), times + 1, delta).upper, here);
            cr_expect_leq(price(all[k], gaussian(1.0, 1.01 * s), times, delta).upper, here);
            cr_expect_geq(price(all[k], gaussian(1.0, s), times, 0.9 * delta).upper, here);
        }
        double step = price(&accountant_renyi, gaussian(0.02, s), times, delta).upper;
        cr_expect_geq(price(&accountant_renyi, gaussian(0.02, s), times + 1, delta).upper, step);
        cr_expect_leq(price(&accountant_renyi, gaussian(0.02, 1.01 * s), times, delta).upper, step);
        double each = 2.0 * noise_uniform(noise);
        double most = price(&accountant_optimal_composition, pair(each, 0.0), times, delta).upper;
        cr_expect_geq(
            price(&accountant_optimal_composition, pair(each, 0.0), times + 1, delta).upper,
            most * (1.0 - 1e-9));
        cr_expect_geq(
            price(&accountant_optimal_composition, pair(1.01 * each, 0.0), times, delta).upper,
            most * (1.0 - 1e-9));
    }
    noise_source_free(noise);
}

/* A pair at its own delta is itself, for whoever adds up; unequal pairs are listed. */
Test(accountants, edges)
{
    size_t i = 0;
    struct privacy_interval one = price(&accountant_basic, pair(1.0, 1e-5), 1, 1e-5);
    CLOSE(one.upper, 1.0, 1e-14);
    one = price(&accountant_optimal_composition, pair(1.0, 1e-5), 1, 1e-5);
    CLOSE(one.upper, 1.0, 1e-13);
    one = price(&accountant_optimal_composition, pair(0.0, 1e-6), 5, 1e-5);
    cr_expect_eq(one.lower, 0.0);
    cr_expect_leq(one.upper, 1e-12);
    struct composition plan = {0};
    add(&plan, pair(0.5, 1e-7), 3);
    add(&plan, pair(0.3, 0.0), 4);
    add(&plan, response(0.4, 3), 2);
    struct privacy_interval there;
    cr_assert_eq(accountant_optimal_composition.epsilon(&plan, 1e-4, &one), ACCOUNTANT_OK);
    cr_assert_eq(accountant_optimal_composition.delta(&plan, one.upper, &there), ACCOUNTANT_OK);
    CLOSE(there.upper, 1e-4, 1e-9);
    for (int k = 0; k < 40; k++)
        add(&plan, pair(0.01 * (k + 1), 0.0), 7);
    cr_assert_eq(accountant_optimal_composition.epsilon(&plan, 1e-4, &one),
                 ACCOUNTANT_OUT_OF_REACH);
    add(&plan, gaussian(1.0, 1.0), 1);
    cr_assert_eq(accountant_optimal_composition.epsilon(&plan, 1e-4, &one), ACCOUNTANT_UNSUPPORTED);
    cr_assert_eq(accountant_advanced.epsilon(&plan, 1e-4, &one), ACCOUNTANT_UNSUPPORTED);
    cr_assert_eq(accountant_gdp.epsilon(&plan, 1e-4, &one), ACCOUNTANT_UNSUPPORTED);
    composition_clear(&plan);
}

Test(accountants, refusals)
{
    static const char *const names[] = {"exact",    "renyi", "gdp", "optimal_composition",
                                        "advanced", "basic"};
    static const double deltas[] = {0.0, 1.0, -1.0, NAN, INFINITY};
    for (size_t k = 0; k < 6; k++) {
        const struct accountant *accountant = accountant_find(names[k]);
        cr_assert_not_null(accountant);
        struct composition plan = {0};
        struct privacy_interval out;
        cr_expect_eq(accountant->epsilon(&plan, 1e-5, &out), ACCOUNTANT_BAD);
        cr_expect_eq(accountant->delta(&plan, 1.0, &out), ACCOUNTANT_BAD);
        add(&plan, k == 2 ? gaussian(1.0, 1.0) : pair(0.1, 0.0), 3);
        for (size_t i = 0; i < 5; i++)
            cr_expect_eq(accountant->epsilon(&plan, deltas[i], &out), ACCOUNTANT_BAD);
        cr_expect_eq(accountant->delta(&plan, -1.0, &out), ACCOUNTANT_BAD);
        cr_expect_eq(accountant->delta(&plan, NAN, &out), ACCOUNTANT_BAD);
        plan.part[0].mechanism.pair.epsilon = NAN;
        cr_expect_eq(accountant->epsilon(&plan, 1e-5, &out), ACCOUNTANT_BAD, "%s", names[k]);
        composition_clear(&plan);
    }
}

/* Steps at NOISE, or the noise of so many steps. */
struct training {
    double rate, noise;
    uint64_t steps;
};

static enum composition_status of_noise(const void *context, double noise, struct composition *out)
{
    const struct training *training = context;
    struct mechanism step = gaussian(training->rate, noise);
    return composition_add(out, &step, training->steps);
}

static enum composition_status of_runs(const void *context, double runs, struct composition *out)
{
    const struct training *training = context;
    struct mechanism step = gaussian(training->rate, training->noise);
    return composition_add(out, &step, (uint64_t)runs);
}

static enum composition_status of_pairs(const void *context, double one_over,
                                        struct composition *out)
{
    const double *row = context; /* times, delta of each */
    struct mechanism each = pair(1.0 / one_over, row[1]);
    return composition_add(out, &each, (uint64_t)row[0]);
}

Test(accountants, inverse_oracles)
{
    struct accountant_found found;
    json_t *root = golden_load("max_steps.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        struct training training = {.rate =
                                        golden_number(one, "batch") / golden_number(one, "experts"),
                                    .noise = golden_number(one, "noise_multiplier")};
        struct accountant_budget budget = {golden_number(one, "epsilon"),
                                           golden_number(one, "delta")};
        cr_assert_eq(
            accountant_most_runs(&accountant_exact, of_runs, &training, &budget, 1e9, &found),
            ACCOUNTANT_SEARCH_OK);
        cr_expect_eq(found.parameter, golden_number(one, "max_steps"), "row %zu: %.0f", i,
                     found.parameter);
    }
    json_decref(root);
    root = golden_load("composition.json");
    json_array_foreach(json_object_get(root, "inverse"), i, one)
    {
        double row[] = {golden_number(one, "times"), golden_number(one, "delta_each")};
        struct accountant_budget budget = {golden_number(one, "epsilon_total"),
                                           golden_number(one, "delta_total")};
        const struct accountant *const by[] = {&accountant_optimal_composition,
                                               &accountant_advanced};
        const char *const key[] = {"epsilon_optimal", "epsilon_advanced"};
        for (size_t k = 0; k < 2; k++) {
            cr_assert_eq(accountant_least_noise(by[k], of_pairs, row, &budget, 1e-3, 1e3, &found),
                         ACCOUNTANT_SEARCH_OK);
            double want = golden_number(one, key[k]);
            cr_expect_leq(1.0 / found.parameter, want * (1.0 + 1e-9));
            CLOSE(1.0 / found.parameter, want, 2e-4);
        }
    }
    cr_assert_eq(i, 10);
    json_decref(root);
}

Test(accountants, inverse_problems)
{
    static const struct accountant *const all[] = {&accountant_gdp, &accountant_exact,
                                                   &accountant_renyi, &accountant_basic};
    struct noise_source *noise = golden_noise(66);
    struct accountant_found found;
    for (int i = 0; i < 40; i++) {
        struct training training = {1.0, 1.0 + 20.0 * noise_uniform(noise),
                                    1 + noise_below(noise, 100)};
        struct accountant_budget budget = {1.0 + 8.0 * noise_uniform(noise), 1e-5};
        for (size_t k = 0; k < 4; k++) {
            cr_assert_eq(
                accountant_least_noise(all[k], of_noise, &training, &budget, 1e-2, 1e4, &found),
                ACCOUNTANT_SEARCH_OK);
            cr_expect_leq(found.cost.upper, budget.epsilon);
            double less = price(all[k], gaussian(1.0, found.parameter * (1.0 - 1.1e-4)),
                                training.steps, budget.delta)
                              .upper;
            cr_expect_gt(less, budget.epsilon, "%s", all[k]->name);
            enum accountant_search_status status =
                accountant_most_runs(all[k], of_runs, &training, &budget, 1e6, &found);
            double first = price(all[k], gaussian(1.0, training.noise), 1, budget.delta).upper;
            if (status == ACCOUNTANT_SEARCH_NOTHING_FITS) {
                cr_expect_gt(first, budget.epsilon);
                continue;
            }
            cr_assert_eq(status, ACCOUNTANT_SEARCH_OK);
            double here = price(all[k], gaussian(1.0, training.noise), (uint64_t)found.parameter,
                                budget.delta)
                              .upper;
            double more = price(all[k], gaussian(1.0, training.noise),
                                (uint64_t)found.parameter + 1, budget.delta)
                              .upper;
            cr_expect(here <= budget.epsilon && more > budget.epsilon, "%s", all[k]->name);
        }
    }
    noise_source_free(noise);
    struct training training = {0.01, 1.0, 1000};
    struct accountant_budget budget = {1.0, 1e-5}, bad = {0.0, 1e-5};
    cr_expect_eq(
        accountant_least_noise(&accountant_gdp, of_noise, &training, &budget, 0.1, 10.0, &found),
        ACCOUNTANT_SEARCH_UNSUPPORTED);
    cr_expect_eq(
        accountant_least_noise(&accountant_exact, of_noise, &training, &budget, 0.1, 0.2, &found),
        ACCOUNTANT_SEARCH_NOTHING_FITS);
    cr_expect_eq(
        accountant_least_noise(&accountant_exact, of_noise, &training, &bad, 0.1, 10.0, &found),
        ACCOUNTANT_SEARCH_BAD);
    cr_expect_eq(
        accountant_least_noise(&accountant_exact, of_noise, &training, &budget, 2.0, 1.0, &found),
        ACCOUNTANT_SEARCH_BAD);
    cr_expect_eq(accountant_most_runs(&accountant_exact, of_runs, &training, &budget, 0.5, &found),
                 ACCOUNTANT_SEARCH_BAD);
    training.noise = NAN;
    cr_expect_eq(accountant_most_runs(&accountant_exact, of_runs, &training, &budget, 10.0, &found),
                 ACCOUNTANT_SEARCH_BAD);
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
        add(&plan, gaussian(rate, noise_multiplier), steps);
        if (i % 4 == 3)
            add(&plan, any(noise), 1 + noise_below(noise, 10));
        double delta = pow(10.0, -3.0 - 5.0 * noise_uniform(noise));
        struct privacy_interval exact, certified;
        if (accountant_exact.epsilon(&plan, delta, &exact) == ACCOUNTANT_OK &&
            accountant_pld.epsilon(&plan, delta, &certified) == ACCOUNTANT_OK) {
            compared++;
            double room = 1e-11 * (1.0 + exact.upper);
            cr_expect(certified.lower <= exact.upper + room &&
                          exact.lower - room <= certified.upper,
                      "row %d: %.15g outside [%.15g, %.15g]", i, exact.upper, certified.lower,
                      certified.upper);
            double at = exact.upper;
            cr_assert_eq(accountant_exact.delta(&plan, at, &exact), ACCOUNTANT_OK);
            cr_assert_eq(accountant_pld.delta(&plan, at, &certified), ACCOUNTANT_OK);
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
