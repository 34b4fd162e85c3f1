/* Draws of the Dirichlet mechanism: their law, their grid, what is refused. Seeds are fixed; under
 * the law each comparison fails with probability below 1e-6. */
#include "algos/privacy/laws/dirichlet.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

Test(dirichlet_sample, mix_reaches_the_restricted_simplex)
{
    struct dirichlet mechanism = {3, 20.0, 0.05, 0.1};
    double p[3] = {1.0, 0.0, 0.0}, sum = 0;
    dirichlet_mix(&mechanism, p);
    for (int i = 0; i < 3; i++) {
        cr_assert_geq(p[i], 0.05);
        sum += p[i];
    }
    cr_assert_float_eq(sum, 1.0, 1e-15);
    cr_assert_float_eq(p[0], 0.9, 1e-15);
}

Test(dirichlet_sample, rows_lie_on_the_grid_and_sum_to_one)
{
    struct noise_source *noise = golden_noise(73);
    for (uint32_t m = 2; m <= 64; m += m < 8 ? 1 : 14) {
        struct dirichlet mechanism = {m, 4.0 * m, 0.5 / m, 0.1};
        double p[64], z[64];
        for (uint32_t i = 0; i < m; i++)
            p[i] = 1.0 / m;
        for (int round = 0; round < 300; round++) {
            cr_assert(dirichlet_sample(&mechanism, noise, p, z));
            double sum = 0;
            for (uint32_t i = 0; i < m; i++) {
                cr_assert(z[i] >= 0.0 && z[i] * 1048576.0 == floor(z[i] * 1048576.0));
                sum += z[i];
            }
            cr_assert_eq(sum, 1.0);
        }
    }
    noise_source_free(noise);
}

static double beta_3_1_cdf(double x)
{
    return x * x * x;
}

Test(dirichlet_sample, draws_follow_the_law)
{
    enum { N = 100000 };
    double *sample = malloc(N * sizeof *sample);
    struct noise_source *noise = golden_noise(74);
    struct dirichlet two = {2, 4.0, 0.25, 0.1};
    double p[3] = {0.75, 0.25}, z[3];
    for (int i = 0; i < N; i++) {
        cr_assert(dirichlet_sample(&two, noise, p, z));
        sample[i] = z[0];
    }
    cr_assert_lt(golden_ks(sample, N, beta_3_1_cdf), KS_LIMIT);

    struct dirichlet three = {3, 30.0, 0.1, 0.1};
    double mean[3] = {0}, square[3] = {0};
    p[0] = 0.1, p[1] = 0.3, p[2] = 0.6;
    for (int i = 0; i < N; i++) {
        cr_assert(dirichlet_sample(&three, noise, p, z));
        for (int a = 0; a < 3; a++) {
            mean[a] += z[a] / N;
            square[a] += z[a] * z[a] / N;
        }
    }
    for (int a = 0; a < 3; a++) {
        double variance = p[a] * (1.0 - p[a]) / 31.0;
        cr_expect_lt(golden_z(mean[a], p[a], sqrt(variance / N)), Z_LIMIT);
        cr_expect_float_eq((square[a] - mean[a] * mean[a]) / variance, 1.0, 0.05);
    }
    noise_source_free(noise);
    free(sample);
}

Test(dirichlet_sample, sample_refuses_what_is_not_in_the_simplex)
{
    struct dirichlet mechanism = {3, 20.0, 0.05, 0.1};
    struct noise_source *noise = golden_noise(75);
    double z[3];
    static const double bad[][3] = {{0.04, 0.46, 0.5}, {0.2, 0.2, 0.2},      {0.5, 0.5, 0.5},
                                    {NAN, 0.5, 0.5},   {INFINITY, 0.1, 0.1}, {-0.1, 0.5, 0.6}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(dirichlet_sample(&mechanism, noise, bad[i], z), "case %zu", i);
    static const double good[3] = {0.05, 0.05, 0.9};
    cr_expect(dirichlet_sample(&mechanism, noise, good, z));
    noise_source_free(noise);
}

Test(dirichlet_sample, error_radius_holds_the_answer)
{
    struct dirichlet mechanism = {6, 20.0, 0.05, 0.1};
    struct noise_source *noise = golden_noise(76);
    double p[6] = {0.5, 0.1, 0.1, 0.1, 0.1, 0.1}, z[6];
    double radius = dirichlet_error_radius(&mechanism, 0.05);
    int outside = 0;
    enum { N = 20000 };
    for (int i = 0; i < N; i++) {
        double square = 0;
        cr_assert(dirichlet_sample(&mechanism, noise, p, z));
        for (int a = 0; a < 6; a++)
            square += (z[a] - p[a]) * (z[a] - p[a]);
        outside += sqrt(square) >= radius;
    }
    cr_assert_leq(outside, N / 20);
    cr_assert_gt(dirichlet_error_radius(&mechanism, 0.01), radius);
    noise_source_free(noise);
}

/* What the theorem speaks of is a point of the simplex: P sums to one without rounding. */
Test(dirichlet_sample, mix_starts_from_a_lattice)
{
    struct dirichlet mechanism = {7, 7.5, 0x1p-3, 0.1}; /* mixed exactly: 7 / 8 and 1 / 8 */
    double p[7] = {0.1, 0.1, 0.1, 0.1, 0.3, 0.2, 0.1}, other[7] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    int64_t units = 0;
    dirichlet_mix(&mechanism, p);
    for (int i = 0; i < 7; i++)
        units += (int64_t)ldexp(p[i], 55); /* the eighth of a unit that remains is exact */
    cr_expect_eq(units, INT64_C(1) << 55);
    dirichlet_mix(&mechanism, other);
    units = 0;
    for (int i = 0; i < 7; i++)
        units += (int64_t)ldexp(other[i], 55);
    cr_expect_eq(units, INT64_C(1) << 55);
    double bad[7] = {0.5, 0.5, 0.5};
    dirichlet_mix(&mechanism, bad); /* not repaired, so that it is refused */
    cr_expect_gt(bad[0] + bad[1] + bad[2], 0.4);
}

Test(dirichlet_sample, an_answer_pays_for_its_arithmetic)
{
    struct dirichlet mechanism = {4, 1e9, 0.1, 1e-12};
    double order = 3.0, theorem = dirichlet_renyi_bound(&mechanism, order);
    double own = 2.5 * 3.0 * noise_beta_binomial_error(1e9);
    cr_expect_geq(dirichlet_answer_bound(&mechanism, order), theorem + own);
    cr_expect_gt(own, 1e-4);
    mechanism = (struct dirichlet){4, 20.0, 0.1, 0.01};
    theorem = dirichlet_renyi_bound(&mechanism, order);
    cr_expect_lt(dirichlet_answer_bound(&mechanism, order) - theorem, 1e-9);
}
