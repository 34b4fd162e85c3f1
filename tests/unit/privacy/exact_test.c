/* Exact values: contour integrals, finite sums, closed forms, against oracles and each other. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/laws/contour.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/laws/points.h"
#include "tests/unit/privacy/golden.h"
#include "tests/unit/privacy/plans.h"

/* Epsilon at DELTA; NaN when it is out of reach. */
static double epsilon_of(const struct composition *composition, double delta)
{
    struct privacy_interval interval = {NAN, NAN};
    enum accountant_status status =
        accountant_epsilon(&accountant_exact, composition, delta, &interval);
    cr_assert(status == ACCOUNTANT_OK || status == ACCOUNTANT_OUT_OF_REACH);
    cr_assert(interval.lower == interval.upper || status != ACCOUNTANT_OK);
    return status == ACCOUNTANT_OK ? interval.upper : NAN;
}

static double epsilon_of_one(struct mechanism mechanism, uint64_t times, double delta)
{
    struct composition composition = {0};
    plan_add(&composition, mechanism, times);
    double epsilon = epsilon_of(&composition, delta);
    composition_clear(&composition);
    return epsilon;
}

static double delta_of(const struct composition *composition, double epsilon)
{
    struct privacy_interval interval = {NAN, NAN};
    enum accountant_status status =
        accountant_delta(&accountant_exact, composition, epsilon, &interval);
    cr_assert_eq(status, ACCOUNTANT_OK);
    return interval.upper;
}

Test(exact, subsampled_gaussian_oracles)
{
    json_t *root = golden_load("subsampled_gaussian.json"), *one;
    size_t i, far = 0;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        const char *id = json_string_value(json_object_get(one, "id"));
        struct composition composition = {0};
        plan_add(&composition,
                 plan_gaussian(golden_number(one, "sampling_prob"),
                               golden_number(one, "noise_multiplier")),
                 (uint64_t)golden_number(one, "steps"));
        double delta = golden_number(one, "delta");
        double got = epsilon_of(&composition, delta);
        if (isnan(got)) {
            far++;
            composition_clear(&composition);
            continue;
        }
        double want = golden_number(one, "epsilon_exact");
        cr_expect(got >= golden_number(one, "epsilon_optimistic") * (1.0 - 1e-12) &&
                      got <= golden_number(one, "epsilon_pessimistic") * (1.0 + 1e-12),
                  "%s: %.15g is outside", id, got);
        /* Two cases have no exact oracle but the mean of two grids. */
        bool grid = id[1] == '1' && id[2] == '4';
        grid = grid || (id[1] == '3' && id[2] == '6');
        cr_expect_float_eq(got, want, (grid ? 1e-6 : 5e-13) * want, "%s: %.16g for %.16g", id, got,
                           want);
        if (got > 0.0)
            cr_expect_float_eq(delta_of(&composition, got) / delta, 1.0, 1e-11, "%s", id);
        composition_clear(&composition);
    }
    cr_assert_eq(i, 48);
    cr_expect_leq(far, 1, "%zu cases out of reach", far);
    json_decref(root);
}

Test(exact, pairs_and_responses)
{
    json_t *root = golden_load("composition.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "pairs"), i, one)
    {
        double got =
            epsilon_of_one(plan_pair(golden_number(one, "epsilon"), golden_number(one, "delta")),
                           (uint64_t)golden_number(one, "times"), golden_number(one, "at"));
        if (json_is_null(json_object_get(one, "optimal"))) {
            cr_expect(isinf(got), "row %zu", i);
            continue;
        }
        double want = golden_number(one, "optimal");
        cr_expect_float_eq(got, want, 1e-11 * want, "row %zu: %.16g for %.16g", i, got, want);
    }
    cr_assert_eq(i, 124);
    json_array_foreach(json_object_get(root, "response"), i, one)
    {
        double flip = 1.0 / (1.0 + exp(golden_number(one, "epsilon")));
        struct mechanism response = {.kind = MECHANISM_RANDOMIZED_RESPONSE,
                                     .response = {2.0 * flip, 2}};
        double got = epsilon_of_one(response, (uint64_t)golden_number(one, "times"),
                                    golden_number(one, "at"));
        double want = golden_number(one, "exact");
        cr_expect_float_eq(got, want, 1e-11 * want, "row %zu: %.16g for %.16g", i, got, want);
    }
    cr_assert_eq(i, 32);
    json_decref(root);
}

Test(exact, laplace)
{
    json_t *root = golden_load("composition.json"), *one;
    size_t i, reached = 0;
    json_array_foreach(json_object_get(root, "laplace"), i, one)
    {
        double got =
            epsilon_of_one(plan_laplace(1.0 / golden_number(one, "epsilon")),
                           (uint64_t)golden_number(one, "times"), golden_number(one, "at"));
        if (isnan(got))
            continue;
        reached++;
        cr_expect(got >= golden_number(one, "lower") * (1.0 - 1e-12) &&
                      got <= golden_number(one, "upper") * (1.0 + 1e-12),
                  "row %zu: %.16g is outside", i, got);
    }
    cr_assert_eq(i, 60);
    cr_assert_eq(reached, 33); /* one run, or enough of them to smooth the atoms */
    json_decref(root);
}

/* (A3) for pairs of Dirichlet laws. */
Test(exact, dirichlet_pairs)
{
    json_t *root = golden_load("dirichlet.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "hockey_stick"), i, one)
    {
        double a[8], b[8], k = golden_number(one, "k"), got;
        json_t *p = json_object_get(one, "pi"), *q = json_object_get(one, "pi_prime");
        size_t count = json_array_size(p);
        cr_assert_leq(count, 8);
        for (size_t j = 0; j < count; j++) {
            a[j] = k * json_number_value(json_array_get(p, j));
            b[j] = k * json_number_value(json_array_get(q, j));
        }
        struct contour_law law = {.kind = CONTOUR_DIRICHLET_PAIR, .times = golden_number(one, "n")};
        law.dirichlet.a = a;
        law.dirichlet.b = b;
        law.dirichlet.count = (uint32_t)count;
        double want = golden_number(one, "delta"), epsilon = golden_number(one, "eps");
        enum contour_status status = contour_delta(&law, 1, epsilon, &got);
        cr_expect_eq(status, CONTOUR_OK, "row %zu", i);
        cr_expect_float_eq(got / want, 1.0, 1e-9, "row %zu: %.16g for %.16g", i, got, want);
        double back;
        cr_expect_eq(contour_epsilon(&law, 1, got, &back), CONTOUR_OK);
        cr_expect_float_eq(back, epsilon, 1e-9, "row %zu: %.16g", i, back);
    }
    cr_assert_gt(i, 8);
    json_decref(root);
}

/* The worst pair that numerical search found (four actions, delta 1e-5; three digits): ours come as
 * close as that, and Renyi accounting is above. */
Test(exact, dirichlet_lower_figures)
{
    static const struct {
        double k, eta, sensitivity, times, want;
    } row[] = {
        {20, 0.05, 0.01, 1, 1.62},   {20, 0.05, 0.05, 1, 9.47},    {20, 0.05, 0.01, 100, 13.6},
        {20, 0.05, 0.05, 100, 113},  {20, 0.10, 0.01, 1, 0.82},    {20, 0.10, 0.05, 1, 4.89},
        {20, 0.10, 0.01, 100, 7.72}, {20, 0.10, 0.05, 100, 61.0},  {100, 0.10, 0.01, 1, 1.39},
        {100, 0.10, 0.05, 1, 8.43},  {100, 0.10, 0.01, 100, 18.4}, {100, 0.10, 0.05, 100, 183},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct mechanism dirichlet = {.kind = MECHANISM_DIRICHLET,
                                      .dirichlet = {row[i].k, row[i].eta, row[i].sensitivity, 4}};
        struct composition plan = {0};
        struct privacy_interval exact, renyi;
        plan_add(&plan, dirichlet, (uint64_t)row[i].times);
        cr_assert_eq(accountant_epsilon(&accountant_exact, &plan, 1e-5, &exact), ACCOUNTANT_OK,
                     "row %zu", i);
        cr_assert_eq(accountant_epsilon(&accountant_renyi, &plan, 1e-5, &renyi), ACCOUNTANT_OK);
        cr_expect_float_eq(exact.lower / row[i].want, 1.0, 0.01, "row %zu: %g", i, exact.lower);
        cr_expect_lt(exact.lower, renyi.upper);
        composition_clear(&plan);
    }
}

/* A Gaussian and pairs together: the Gaussian's delta, averaged over the points' losses. */
Test(exact, joint_with_points)
{
    struct noise_source *noise = golden_noise(60);
    for (int i = 0; i < 60; i++) {
        double mu = 0.3 + 2.0 * noise_uniform(noise), at = 4.0 * noise_uniform(noise);
        struct contour_law law[3] = {
            {.kind = CONTOUR_POINTS, .times = 1.0 + floor(30.0 * noise_uniform(noise))},
            {.kind = CONTOUR_POINTS, .times = 1.0 + floor(3.0 * noise_uniform(noise))},
            {.kind = CONTOUR_GAUSSIAN, .times = 1.0}};
        for (int k = 0; k < 2; k++) {
            law[k].points.loss = noise_uniform(noise);
            law[k].points.moving = k ? 0.05 + 0.95 * noise_uniform(noise) : 1.0;
            law[k].points.infinite = k ? 0.0 : 1e-4 * noise_uniform(noise);
        }
        law[2].gaussian.noise_multiplier = 1.0 / mu;
        struct points points;
        cr_assert_eq(points_compose(law, 2, &points), POINTS_OK);
        double want = points.infinite, got, back;
        for (size_t j = 0; j < points.count; j++) {
            double left = at - points.point[j].loss;
            double delta = exp(gaussian_dp_log_delta(mu, fabs(left)));
            if (left < 0.0)
                delta = -expm1(left) + exp(left) * delta;
            want += points.point[j].mass * delta;
        }
        points_clear(&points);
        cr_assert_eq(contour_delta(law, 3, at, &got), CONTOUR_OK);
        cr_expect_float_eq(got / want, 1.0, 1e-11, "%.15g for %.15g", got, want);
        cr_assert_eq(contour_epsilon(law, 3, got, &back), CONTOUR_OK);
        cr_expect_float_eq(back, at, 1e-9, "%.15g for %.15g", back, at);
    }
    noise_source_free(noise);
}

/* Little noise and rare units: at c = 1 the moment is E (1+r)^2, and adding has its bulk near 0. */
Test(exact, moments_far_out)
{
    for (double s = 0.06; s < 0.3; s += 0.02)
        for (double q = 1e-6; q < 1.0; q *= 7.0) {
            struct contour_law law = {.kind = CONTOUR_SUBSAMPLED_GAUSSIAN, .times = 1.0};
            law.gaussian.noise_multiplier = s;
            law.gaussian.sampling_rate = q;
            double want = 1.0 / (s * s) + log(q * q + (1.0 - q * q) * exp(-1.0 / (s * s)));
            double moment = contour_law_log_moment(&law, 1.0);
            cr_expect_float_eq(moment, want, 1e-12 * want + 1e-14, "%g %g", s, q);
            law.gaussian.add = true;
            want = -1e-3 * log1p(-q); /* but for the mass beyond 1 / (2 s) */
            double got = contour_law_log_moment(&law, 1e-3);
            cr_expect(got <= want * (1.0 + 1e-12) && (s > 0.105 || got >= want * (1.0 - 1e-3)),
                      "%g %g %g", s, q, got / want);
        }
}

/* More runs and less noise cost more; the order of the parts is nothing. */
/* The tilt that suits a figure may make great losses count that nobody will ever see. Sums over
 * every step and every second one agreed on them being there; the value is by an integral in 25
 * digits over outputs within 16 standard deviations. */
Test(exact, rare_great_losses_do_not_come_in)
{
    struct composition composition = {0};
    struct privacy_interval certified;
    double epsilon = 0.0654463;
    plan_add(&composition, plan_gaussian(0.012462290896115825, 2.9531201138244647), 47);
    double delta = delta_of(&composition, epsilon);
    cr_assert_float_eq(delta, 0.000218905468636299, 1e-9 * delta);
    cr_assert_eq(accountant_delta(&accountant_pld, &composition, epsilon, &certified),
                 ACCOUNTANT_OK);
    cr_assert(certified.lower <= delta && delta <= certified.upper);
    cr_assert_float_eq(epsilon_of(&composition, delta), epsilon, 1e-8 * epsilon);
    composition_clear(&composition);
}

/* Little noise: a loss is about 352 for each sampled run of 72. The value sums over their number,
 * with normal laws, in 30 digits. No figure will do; a wrong one will not. */
Test(exact, losses_in_lumps)
{
    struct composition composition = {0};
    plan_add(&composition, plan_gaussian(0.31782490551672982, 0.03770739594693967), 72);
    struct privacy_interval out;
    enum accountant_status status =
        accountant_delta(&accountant_exact, &composition, 5720.27, &out);
    cr_assert(status == ACCOUNTANT_OUT_OF_REACH || fabs(out.upper - 0.951607937319899646) < 1e-9,
              "%.12g", out.upper);
    cr_assert_eq(accountant_delta(&accountant_pld, &composition, 5720.27, &out), ACCOUNTANT_OK);
    cr_assert(out.lower <= 0.951607937319899646 && out.upper >= 0.951607937319899646);
    composition_clear(&composition);
}

Test(exact, monotone_and_symmetric)
{
    struct noise_source *noise = golden_noise(61);
    for (int i = 0; i < 40; i++) {
        double rate = 0.005 + 0.1 * noise_uniform(noise), s = 0.8 + 3.0 * noise_uniform(noise);
        uint64_t times = 200 + noise_below(noise, 5000);
        double delta = pow(10.0, -2.0 - 6.0 * noise_uniform(noise));
        struct mechanism other = plan_pair(0.3 * noise_uniform(noise), 1e-3 * delta);
        struct composition plan = {0}, turned = {0};
        plan_add(&plan, plan_gaussian(rate, s), times);
        double alone = epsilon_of(&plan, delta);
        plan_add(&plan, other, 5);
        plan_add(&turned, other, 5);
        plan_add(&turned, plan_gaussian(rate, s), times);
        double both = epsilon_of(&plan, delta);
        cr_expect_geq(both, alone);
        cr_expect_float_eq(epsilon_of(&turned, delta), both, 1e-11 * both);
        cr_expect_geq(epsilon_of_one(plan_gaussian(rate, s), times + 10, delta), alone);
        cr_expect_leq(epsilon_of_one(plan_gaussian(rate, 1.01 * s), times, delta), alone);
        cr_expect_geq(epsilon_of_one(plan_gaussian(1.01 * rate, s), times, delta), alone);
        cr_expect_geq(epsilon_of_one(plan_gaussian(rate, s), times, 0.9 * delta), alone);
        composition_clear(&plan);
        composition_clear(&turned);
    }
    noise_source_free(noise);
}

Test(exact, refusals)
{
    struct composition composition = {0};
    struct privacy_interval out = {1.0, 2.0};
    cr_assert_eq(accountant_epsilon(&accountant_exact, &composition, 1e-5, &out), ACCOUNTANT_BAD);
    plan_add(&composition, plan_gaussian(0.01, 1.0), 1000);
    static const double bad[] = {0.0, 1.0, -1.0, NAN, INFINITY};
    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(accountant_epsilon(&accountant_exact, &composition, bad[i], &out),
                     ACCOUNTANT_BAD);
    cr_assert_eq(accountant_delta(&accountant_exact, &composition, -0.1, &out), ACCOUNTANT_BAD);
    cr_assert_eq(accountant_delta(&accountant_exact, &composition, NAN, &out), ACCOUNTANT_BAD);
    struct mechanism dirichlet = {.kind = MECHANISM_DIRICHLET, .dirichlet = {20, 0.1, 0.01, 4}};
    plan_add(&composition, dirichlet, 3);
    cr_assert_eq(accountant_epsilon(&accountant_exact, &composition, 1e-5, &out), ACCOUNTANT_OK);
    cr_assert(out.lower > 0.0 && isinf(out.upper)); /* the worst pair is not known */
    composition.part[1].mechanism.dirichlet.actions = 1;
    out = (struct privacy_interval){1.0, 2.0};
    cr_assert_eq(accountant_epsilon(&accountant_exact, &composition, 1e-5, &out), ACCOUNTANT_BAD);
    cr_assert(out.lower == 1.0 && out.upper == 2.0);
    composition_clear(&composition);
    plan_add(&composition, plan_pair(1.0, 1e-3), 10);
    cr_assert_eq(accountant_epsilon(&accountant_exact, &composition, 1e-3, &out), ACCOUNTANT_OK);
    cr_assert(isinf(out.upper)); /* ten times 1e-3 do not fit 1e-3 */
    composition_clear(&composition);
}
