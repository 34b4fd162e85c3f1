/* Reports: whose figure it is, that it lies where it must, and what Dirichlet answers cost at
 * least. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/privacy_report.h"

static struct mechanism sampled(double rate, double noise)
{
    return (struct mechanism){.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {rate, noise}};
}

static struct mechanism dirichlet(uint32_t actions, double k, double eta, double sensitivity)
{
    return (struct mechanism){.kind = MECHANISM_DIRICHLET,
                              .dirichlet = {k, eta, sensitivity, actions}};
}

static struct privacy_report report_of(const struct composition *plan, bool for_delta, double at,
                                       enum privacy_effort effort)
{
    struct privacy_question question = {for_delta, at};
    struct privacy_report report = {0};
    cr_assert_eq(privacy_report_make(plan, &question, effort, &report), ACCOUNTANT_OK);
    cr_assert(report.figure.lower <= report.figure.upper && isfinite(report.figure.upper));
    return report;
}

static struct composition plan_of(const struct mechanism *mechanism, uint64_t times)
{
    struct composition plan = {0};
    cr_assert_eq(composition_add(&plan, mechanism, times), COMPOSITION_OK);
    return plan;
}

Test(privacy_report, names_its_accountant)
{
    static const double rates[] = {1.0, 0.5};
    static const char *const names[] = {"gdp", "pld"};
    for (int i = 0; i < 2; i++) {
        struct mechanism m = sampled(rates[i], 2.0), answer = dirichlet(4, 20, 0.1, 0.01);
        struct composition plan = plan_of(&m, 10);
        struct privacy_report report = report_of(&plan, false, 1e-5, PRIVACY_FULL);
        cr_assert_str_eq(report.accountant, names[i]);
        cr_assert_geq(report.renyi, report.figure.lower);
        cr_assert(report.exact >= report.figure.lower * (1 - 1e-9) &&
                  report.exact <= report.figure.upper * (1 + 1e-9));
        cr_assert_eq(composition_add(&plan, &answer, 1), COMPOSITION_OK);
        struct privacy_report both = report_of(&plan, false, 1e-5, PRIVACY_FULL);
        cr_assert_str_eq(both.accountant, "renyi");
        cr_assert_gt(both.figure.lower, report.figure.lower, "all parts count");
        cr_assert(isnan(report_of(&plan, true, 1.0, PRIVACY_FULL).exact), "nobody knows it");
        composition_clear(&plan);
    }
}

/* Dirichlet answers cost at least as much beside other parts as alone, in haste, too: beside one
 * that puts the integral out of reach, beside many, and where they cost more than anybody would
 * pay. */
Test(privacy_report, dirichlet_answers_keep_their_least_price)
{
    struct mechanism answer = dirichlet(4, 20, 0.05, 0.01), loud = dirichlet(4, 20, 0.05, 0.05);
    struct mechanism worthless = sampled(1e-12, 0.1);
    struct composition plan = plan_of(&answer, 5), many = plan_of(&answer, 5);
    struct composition dear = plan_of(&loud, 100);
    double alone = report_of(&plan, false, 1e-5, PRIVACY_QUICK).figure.lower;
    cr_assert_gt(alone, 2.8);
    cr_assert_eq(composition_add(&plan, &worthless, 1), COMPOSITION_OK);
    cr_expect_geq(report_of(&plan, false, 1e-5, PRIVACY_QUICK).figure.lower, alone);
    cr_expect_geq(report_of(&plan, false, 1e-5, PRIVACY_FULL).figure.lower, alone);
    for (int i = 1; i <= 8; i++) {
        struct mechanism pair = {.kind = MECHANISM_EPSILON_DELTA, .pair = {1e-9 * i, 0}};
        cr_assert_eq(composition_add(&many, &pair, 1), COMPOSITION_OK);
        cr_expect_geq(report_of(&many, false, 1e-5, PRIVACY_QUICK).figure.lower, alone);
    }
    cr_expect_gt(report_of(&dear, false, 1e-5, PRIVACY_QUICK).figure.lower, 112);
    composition_clear(&plan);
    composition_clear(&many);
    composition_clear(&dear);
}

/* Delta at the epsilon that was found is the delta that was asked with. */
Test(privacy_report, answers_both_questions_alike)
{
    static const double cases[][4] = {{1, 2, 10, 1e-5}, {0.1, 1, 100, 1e-6}, {0.5, 3, 7, 1e-4}};
    for (int i = 0; i < 3; i++) {
        struct mechanism m = sampled(cases[i][0], cases[i][1]);
        struct composition plan = plan_of(&m, (uint64_t)cases[i][2]);
        double delta = cases[i][3];
        struct privacy_report there = report_of(&plan, false, delta, PRIVACY_FULL);
        struct privacy_report back = report_of(&plan, true, there.figure.upper, PRIVACY_FULL);
        cr_expect(back.figure.lower <= delta && back.figure.upper >= 0.98 * delta, "%g %g",
                  back.figure.lower, back.figure.upper);
        composition_clear(&plan);
    }
}

/* In haste, plans that make sense get the same digits. */
Test(privacy_report, is_as_sharp_in_haste)
{
    static const double cases[][3] = {
        {0.0427, 20, 100000}, {0.01, 1.1, 1000}, {0.001, 0.8, 10000}, {1, 5, 100}};
    for (int i = 0; i < 4; i++) {
        struct mechanism m = sampled(cases[i][0], cases[i][1]);
        struct composition plan = plan_of(&m, (uint64_t)cases[i][2]);
        for (int delta = 0; delta < 2; delta++) {
            double at = delta ? 2.0 : 1e-5;
            struct privacy_report full = report_of(&plan, delta, at, PRIVACY_FULL);
            struct privacy_report quick = report_of(&plan, delta, at, PRIVACY_QUICK);
            cr_expect_eq(full.figure.upper, quick.figure.upper);
            cr_expect_eq(full.figure.lower, quick.figure.lower);
        }
        composition_clear(&plan);
    }
}

Test(privacy_report, refuses_what_has_no_figure)
{
    struct mechanism pair = {.kind = MECHANISM_EPSILON_DELTA, .pair = {1.0, 1e-3}};
    struct mechanism loud = sampled(0.5, 1e-3);
    struct privacy_question epsilon = {false, 1e-5}, nonsense = {false, 0.0};
    struct privacy_report report;
    struct composition plan = plan_of(&pair, 2), other = plan_of(&loud, 1), none = {0};
    cr_assert_eq(privacy_report_make(&plan, &epsilon, PRIVACY_QUICK, &report),
                 ACCOUNTANT_OUT_OF_REACH);
    cr_assert_eq(privacy_report_make(&other, &epsilon, PRIVACY_FULL, &report),
                 ACCOUNTANT_OUT_OF_REACH);
    cr_assert_eq(privacy_report_make(&plan, &nonsense, PRIVACY_FULL, &report), ACCOUNTANT_BAD);
    cr_assert_eq(privacy_report_make(&none, &epsilon, PRIVACY_FULL, &report), ACCOUNTANT_BAD);
    composition_clear(&plan);
    composition_clear(&other);
}

/* Epsilon at delta 1e-5 of the worst pair that an independent program found by maximising over all
 * shifts (Nelder-Mead, many starts), to three digits. */
Test(dirichlet_pair, is_as_dear_as_the_worst_that_was_found)
{
    static const double cases[][6] = {
        /* m, k, eta, n, Delta, epsilon */
        {4, 20, 0.05, 1, 0.01, 1.62},   {4, 20, 0.05, 1, 0.05, 9.47},
        {4, 20, 0.05, 100, 0.01, 13.6}, {4, 20, 0.05, 100, 0.05, 113},
        {4, 20, 0.1, 1, 0.01, 0.82},    {4, 20, 0.1, 1, 0.05, 4.89},
        {4, 20, 0.1, 100, 0.01, 7.72},  {4, 20, 0.1, 100, 0.05, 61.0},
        {4, 100, 0.1, 1, 0.01, 1.39},   {4, 100, 0.1, 1, 0.05, 8.43},
        {4, 100, 0.1, 100, 0.01, 18.4}, {4, 100, 0.1, 100, 0.05, 183},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *c = cases[i];
        struct mechanism m = dirichlet((uint32_t)c[0], c[1], c[2], c[4]);
        struct composition plan = plan_of(&m, (uint64_t)c[3]);
        struct privacy_report report = report_of(&plan, false, 1e-5, PRIVACY_FULL);
        cr_expect_float_eq(report.figure.lower, c[5], 0.008 * c[5], "%g: %g", c[5],
                           report.figure.lower);
        composition_clear(&plan);
    }
}

static double pair_epsilon(const struct composition *plan, double delta)
{
    struct privacy_interval pairs;
    cr_assert_eq(accountant_epsilon(&accountant_exact, plan, delta, &pairs), ACCOUNTANT_OK);
    return pairs.lower;
}

static double pair_delta(const struct composition *plan, double epsilon)
{
    struct privacy_interval pairs;
    cr_assert_eq(accountant_delta(&accountant_exact, plan, epsilon, &pairs), ACCOUNTANT_OK);
    return pairs.lower;
}

/* The pair is exact, the bound above it certified: at every size one is below the other, and both
 * grow with the number of answers. */
Test(dirichlet_pair, lies_below_the_bound)
{
    static const uint32_t sizes[] = {2, 3, 8, 64};
    static const double shares[] = {0.05, 0.5};
    for (int i = 0; i < 8; i++) {
        double m = sizes[i / 2], eta = 0.4 / m, last = 0;
        struct mechanism answer = dirichlet(sizes[i / 2], 2.0 / eta, eta, shares[i % 2] * eta);
        for (uint64_t n = 1; n <= 1000; n *= 10) {
            struct composition plan = plan_of(&answer, n);
            double lower = pair_epsilon(&plan, 1e-5);
            struct privacy_interval bound;
            cr_assert_eq(accountant_epsilon(&accountant_renyi, &plan, 1e-5, &bound), ACCOUNTANT_OK);
            cr_expect(lower <= bound.upper && lower >= last, "%g actions, %g of %g", m, lower,
                      bound.upper);
            cr_expect(n == 1 || lower > 0.3 * bound.upper, "%g actions, %g of %g", m, lower,
                      bound.upper);
            double delta = pair_delta(&plan, lower);
            cr_expect(lower == 0.0 || fabs(delta - 1e-5) < 1e-3 * 1e-5, "%g", delta);
            last = lower;
            composition_clear(&plan);
        }
    }
}
