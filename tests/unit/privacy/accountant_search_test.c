/* The least noise and the most runs for a budget. */
#include "algos/privacy/accounting/accountant_search.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tests/unit/privacy/golden.h"
#include "tests/unit/privacy/plans.h"

#define CLOSE(got, want, tolerance)                                                                \
    cr_expect_float_eq((got) / (want), 1.0, tolerance, "row %zu: %.17g for %.17g", i, got, want)

/* Steps at NOISE, or the noise of so many steps. */
struct training {
    double rate, noise;
    uint64_t steps;
};

static enum composition_status of_noise(const void *context, double noise, struct composition *out)
{
    const struct training *training = context;
    struct mechanism step = plan_gaussian(training->rate, noise);
    return composition_add(out, &step, training->steps);
}

static enum composition_status of_runs(const void *context, double runs, struct composition *out)
{
    const struct training *training = context;
    struct mechanism step = plan_gaussian(training->rate, training->noise);
    return composition_add(out, &step, (uint64_t)runs);
}

static enum composition_status of_pairs(const void *context, double one_over,
                                        struct composition *out)
{
    const double *row = context; /* times, delta of each */
    struct mechanism each = plan_pair(1.0 / one_over, row[1]);
    return composition_add(out, &each, (uint64_t)row[0]);
}

Test(accountant_search, oracles)
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

static enum composition_status of_answers(const void *context, double answers,
                                          struct composition *out)
{
    return composition_add(out, context, (uint64_t)answers);
}

Test(accountant_search, least_noise_and_most_runs)
{
    static const struct accountant *const all[] = {&accountant_gdp, &accountant_exact,
                                                   &accountant_renyi};
    struct noise_source *noise = golden_noise(66);
    struct accountant_found found;
    for (int i = 0; i < 40; i++) {
        struct training training = {1.0, 1.0 + 20.0 * noise_uniform(noise),
                                    1 + noise_below(noise, 100)};
        struct accountant_budget budget = {1.0 + 8.0 * noise_uniform(noise), 1e-5};
        for (size_t k = 0; k < 3; k++) {
            cr_assert_eq(
                accountant_least_noise(all[k], of_noise, &training, &budget, 1e-2, 1e4, &found),
                ACCOUNTANT_SEARCH_OK);
            cr_expect_leq(found.cost.upper, budget.epsilon);
            double less = plan_price(all[k], plan_gaussian(1.0, found.parameter * (1.0 - 1.1e-4)),
                                     training.steps, budget.delta)
                              .upper;
            cr_expect_gt(less, budget.epsilon, "%s", all[k]->name);
            enum accountant_search_status status =
                accountant_most_runs(all[k], of_runs, &training, &budget, 1e6, &found);
            double first =
                plan_price(all[k], plan_gaussian(1.0, training.noise), 1, budget.delta).upper;
            if (status == ACCOUNTANT_SEARCH_NOTHING_FITS) {
                cr_expect_gt(first, budget.epsilon);
                continue;
            }
            cr_assert_eq(status, ACCOUNTANT_SEARCH_OK);
            double here = plan_price(all[k], plan_gaussian(1.0, training.noise),
                                     (uint64_t)found.parameter, budget.delta)
                              .upper;
            double more = plan_price(all[k], plan_gaussian(1.0, training.noise),
                                     (uint64_t)found.parameter + 1, budget.delta)
                              .upper;
            cr_expect(here <= budget.epsilon && more > budget.epsilon, "%s", all[k]->name);
        }
    }
    noise_source_free(noise);
}

Test(accountant_search, most_answers)
{
    struct accountant_found found;
    struct mechanism answer = {.kind = MECHANISM_DIRICHLET, .dirichlet = {20, 0.1, 0.01, 4}};
    struct accountant_budget queries = {4.0, 1e-5};
    cr_assert_eq(
        accountant_most_runs(&accountant_renyi, of_answers, &answer, &queries, 1e6, &found),
        ACCOUNTANT_SEARCH_OK);
    uint64_t most = (uint64_t)found.parameter;
    cr_expect_leq(plan_price(&accountant_renyi, answer, most, 1e-5).upper, 4.0);
    cr_expect_gt(plan_price(&accountant_renyi, answer, most + 1, 1e-5).upper, 4.0);
}

Test(accountant_search, refusals)
{
    struct accountant_found found;
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
