/* The Gaussian mechanism on the simplex: integer projection against floating point, price, draws,
 * accuracy. Seeds are fixed; under the law each comparison fails with probability below 1e-6. */
#include "algos/privacy/answers/gaussian_simplex.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/gaussian_dp.h"
#include "tests/unit/privacy/golden.h"

#define GRID 1048576.0

/* The projection by bisection on theta, which knows nothing of sorting. */
static void project_in_doubles(uint32_t m, const int64_t *y, double *z)
{
    double low = -0x1p60, high = 0x1p60;
    for (int i = 0; i < 200; i++) {
        double theta = 0.5 * (low + high), sum = 0;
        for (uint32_t a = 0; a < m; a++)
            sum += fmax(0.0, (double)y[a] - theta);
        if (sum > GRID)
            low = theta;
        else
            high = theta;
    }
    for (uint32_t a = 0; a < m; a++)
        z[a] = fmax(0.0, (double)y[a] - high);
}

Test(gaussian_simplex, projection_is_exact)
{
    struct noise_source *noise = golden_noise(84);
    int64_t y[64], z[64];
    double want[64];
    for (int round = 0; round < 20000; round++) {
        uint32_t m = 2 + noise_below(noise, round % 8 ? 7 : 63);
        double spread = exp2(30.0 * noise_uniform(noise));
        int64_t sum = 0;
        for (uint32_t a = 0; a < m; a++)
            y[a] =
                noise_below(noise, 4) ? (int64_t)(spread * noise_normal(noise)) : y[a ? a - 1 : 0];
        if (round == 0)
            y[0] = y[1] = 0;
        gaussian_simplex_project(m, y, z);
        project_in_doubles(m, y, want);
        for (uint32_t a = 0; a < m; a++) {
            cr_assert(z[a] >= 0 && fabs((double)z[a] - want[a]) <= 1.0 + 1e-4,
                      "m %u: %lld for %.3f", m, (long long)z[a], want[a]);
            for (uint32_t b = 0; b < m; b++)
                cr_assert(y[a] <= y[b] || z[a] >= z[b], "order is kept");
            sum += z[a];
        }
        cr_assert_eq(sum, GAUSSIAN_SIMPLEX_GRID);
    }
    noise_source_free(noise);
}

Test(gaussian_simplex, projection_by_hand)
{
    static const struct {
        uint32_t m;
        int64_t y[4], z[4];
    } cases[] = {
        {2, {1 << 19, 1 << 19}, {1 << 19, 1 << 19}},
        {2, {5 << 20, 0}, {1 << 20, 0}},
        {3, {0, 0, 0}, {349526, 349525, 349525}}, /* one unit left over: to the lowest number */
        {3, {0, 1, 1}, {349524, 349526, 349526}}, /* two left over: to the largest */
        {3, {-7, -7, 1 << 21}, {0, 0, 1 << 20}},
        {4, {1, 0, 0, 0}, {262145, 262144, 262144, 262143}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t z[4];
        gaussian_simplex_project(cases[i].m, cases[i].y, z);
        for (uint32_t a = 0; a < cases[i].m; a++)
            cr_expect_eq(z[a], cases[i].z[a], "case %zu, %u: %lld", i, a, (long long)z[a]);
    }
}

Test(gaussian_simplex, rows_lie_on_the_grid_and_sum_to_one)
{
    struct noise_source *noise = golden_noise(85);
    for (uint32_t m = 2; m <= 64; m += m < 8 ? 1 : 14) {
        double p[64], z[64];
        for (uint32_t i = 0; i < m; i++)
            p[i] = 1.0 / m;
        static const double sigmas[] = {1e-4, 0.05, 1.0, 1000.0};
        for (size_t s = 0; s < 4; s++) {
            struct gaussian_simplex mechanism = {m, sigmas[s], 0.1};
            for (int round = 0; round < 100; round++) {
                cr_assert(gaussian_simplex_sample(&mechanism, noise, p, z));
                double sum = 0;
                for (uint32_t i = 0; i < m; i++) {
                    cr_assert(z[i] >= 0.0 && z[i] * GRID == floor(z[i] * GRID));
                    sum += z[i];
                }
                cr_assert_eq(sum, 1.0);
            }
        }
    }
    noise_source_free(noise);
}

static double half_sigma_cdf(double x) /* of two actions: N(0.5, sigma^2 / 2), sigma = 0.05 */
{
    return golden_normal_cdf((x - 0.5) / (0.05 * M_SQRT1_2));
}

Test(gaussian_simplex, draws_follow_the_law)
{
    enum { N = 100000 };
    struct noise_source *noise = golden_noise(86);
    double *sample = malloc(N * sizeof *sample), z[3];
    cr_assert_not_null(sample);
    struct gaussian_simplex two = {2, 0.05, 0.1};
    static const double half[2] = {0.5, 0.5}, corner[2] = {1.0, 0.0};
    for (int i = 0; i < N; i++) {
        cr_assert(gaussian_simplex_sample(&two, noise, half, z));
        sample[i] = z[0];
    }
    cr_expect_lt(golden_ks(sample, N, half_sigma_cdf), KS_LIMIT);

    int at_corner = 0; /* half of all */
    for (int i = 0; i < N; i++) {
        cr_assert(gaussian_simplex_sample(&two, noise, corner, z));
        at_corner += z[0] == 1.0;
    }
    cr_expect_lt(golden_z(at_corner, 0.5 * N, 0.5 * sqrt(N)), Z_LIMIT);

    /* Inside the simplex the projection takes away the mean of the noise: variance sigma^2 2/3. */
    struct gaussian_simplex three = {3, 0.02, 0.1};
    static const double p[3] = {0.2, 0.3, 0.5};
    double mean[3] = {0}, square[3] = {0};
    for (int i = 0; i < N; i++) {
        cr_assert(gaussian_simplex_sample(&three, noise, p, z));
        for (int a = 0; a < 3; a++) {
            mean[a] += (z[a] - p[a]) / N;
            square[a] += (z[a] - p[a]) * (z[a] - p[a]) / N;
        }
    }
    double variance = 0.02 * 0.02 * 2.0 / 3.0;
    for (int a = 0; a < 3; a++) {
        cr_expect_lt(golden_z(mean[a], 0.0, sqrt(variance / N)), Z_LIMIT);
        cr_expect_lt(golden_z(square[a] / variance, 1.0, sqrt(2.0 / N)), Z_LIMIT);
    }
    noise_source_free(noise);
    free(sample);
}

Test(gaussian_simplex, price_is_the_gaussian_one_and_pays_for_the_lattice)
{
    struct gaussian_simplex mechanism = {4, 0.05, 0.01};
    double mu = (0.01 + 2.0 / GRID) / 0.05;
    cr_expect(gaussian_simplex_mu(&mechanism) >= mu);
    cr_expect_float_eq(gaussian_simplex_mu(&mechanism), mu, 1e-12);
    for (double order = 1.001; order < 1e6; order *= 3.0)
        cr_expect_float_eq(gaussian_simplex_renyi_bound(&mechanism, order) / (order * mu * mu / 2),
                           1.0, 1e-12);
    cr_expect(isinf(gaussian_simplex_renyi_bound(&mechanism, INFINITY)));
    mechanism.sensitivity = 1e9; /* no two points of the simplex are so far apart */
    cr_expect_float_eq(gaussian_simplex_mu(&mechanism), (M_SQRT2 + 2.0 / GRID) / 0.05, 1e-9);
}

Test(gaussian_simplex, less_noise_never_costs_less)
{
    struct noise_source *noise = golden_noise(87);
    for (int round = 0; round < 2000; round++) {
        struct gaussian_simplex base = {2 + noise_below(noise, 63),
                                        exp(-9.0 + 15.0 * noise_uniform(noise)),
                                        exp(-12.0 * noise_uniform(noise))};
        double order = 1.0 + exp(8.0 * noise_uniform(noise) - 3.0);
        double price = gaussian_simplex_renyi_bound(&base, order);
        struct gaussian_simplex other = base;
        other.sigma *= 0.5 + 0.5 * noise_uniform(noise);
        if (gaussian_simplex_problem(&other))
            continue;
        cr_expect_geq(gaussian_simplex_renyi_bound(&other, order), price);
        other = base;
        other.sensitivity *= 1.0 + noise_uniform(noise);
        cr_expect_geq(gaussian_simplex_renyi_bound(&other, order), price);
        cr_expect_gt(gaussian_simplex_renyi_bound(&base, order * 1.01), price);
    }
    noise_source_free(noise);
}

Test(gaussian_simplex, sigma_for_a_budget)
{
    for (double queries = 1.0; queries < 1e7; queries *= 10.0) {
        struct gaussian_simplex mechanism = {5, 0.0, 0.003};
        mechanism.sigma = gaussian_simplex_sigma(5, 0.003, queries, 0.7);
        double total = sqrt(queries) * gaussian_simplex_mu(&mechanism);
        cr_expect(total <= 0.7 && total >= 0.7 * (1.0 - 1e-12), "%.17g", total);
    }
    cr_expect(isinf(gaussian_simplex_sigma(5, 0.003, 1.0, 0.0)));
    /* There and back by the analytic Gaussian. */
    struct gaussian_simplex mechanism = {5, 0.0, 0.003};
    mechanism.sigma = gaussian_simplex_sigma(5, 0.003, 1000.0, gaussian_dp_mu_for(2.0, 1e-5));
    struct privacy_interval epsilon =
        gaussian_dp_epsilon_interval(sqrt(1000.0) * gaussian_simplex_mu(&mechanism), 1e-5);
    cr_expect(epsilon.upper <= 2.0 * (1.0 + 1e-9) && epsilon.lower >= 2.0 * (1.0 - 1e-9), "%.12g",
              epsilon.upper);
}

Test(gaussian_simplex, error_radius_holds_the_answer)
{
    struct noise_source *noise = golden_noise(88);
    static const double uniform[6] = {1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6};
    static const double peaked[6] = {0.9, 0.02, 0.02, 0.02, 0.02, 0.02};
    struct gaussian_simplex mechanism = {6, 0.03, 0.1};
    double radius = gaussian_simplex_error_radius(&mechanism, 0.05);
    enum { N = 20000 };
    int outside[2] = {0};
    for (int i = 0; i < 2 * N; i++) {
        const double *p = i < N ? uniform : peaked;
        double z[6], square = 0;
        cr_assert(gaussian_simplex_sample(&mechanism, noise, p, z));
        for (int a = 0; a < 6; a++)
            square += (z[a] - p[a]) * (z[a] - p[a]);
        outside[i >= N] += sqrt(square) > radius;
    }
    double spread = Z_LIMIT * sqrt(0.05 * 0.95 * N);
    cr_expect_lt(fabs(outside[0] - 0.05 * N), spread, "exact where nothing is cut: %d", outside[0]);
    cr_expect_lt(outside[1], 0.05 * N + spread);
    cr_expect_gt(gaussian_simplex_error_radius(&mechanism, 0.01), radius);
    mechanism.sigma = 100.0;
    cr_expect_eq(gaussian_simplex_error_radius(&mechanism, 0.05), M_SQRT2);
    /* Two actions: |N(0, sigma^2)|, of which 5 % lie beyond 1.959964. */
    mechanism = (struct gaussian_simplex){2, 0.01, 0.1};
    cr_expect_float_eq(gaussian_simplex_error_radius(&mechanism, 0.05), 0.01959964, 3e-6);
    noise_source_free(noise);
}

Test(gaussian_simplex, problems)
{
    const struct gaussian_simplex good = {3, 0.05, 0.1};
    cr_assert_null(gaussian_simplex_problem(&good));
    struct gaussian_simplex bad[] = {{1, 0.05, 0.1},  {65, 0.05, 0.1},     {3, 0.0, 0.1},
                                     {3, -0.05, 0.1}, {3, NAN, 0.1},       {3, INFINITY, 0.1},
                                     {3, 1e-5, 0.1},  {3, 1001.0, 0.1},    {3, 0.05, 0.0},
                                     {3, 0.05, NAN},  {3, 0.05, INFINITY}, {3, 0.05, -1.0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not_null(gaussian_simplex_problem(&bad[i]), "case %zu", i);
}

Test(gaussian_simplex, sample_refuses_what_is_no_distribution)
{
    struct gaussian_simplex mechanism = {3, 0.05, 0.1};
    struct noise_source *noise = golden_noise(89);
    double z[3];
    static const double bad[][3] = {{0.2, 0.2, 0.2},  {0.5, 0.5, 0.5},  {NAN, 0.5, 0.5},
                                    {INFINITY, 0, 0}, {-0.1, 0.5, 0.6}, {1.1, -0.1, 0.0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(gaussian_simplex_sample(&mechanism, noise, bad[i], z), "case %zu", i);
    static const double good[3] = {0.0, 0.0, 1.0};
    cr_expect(gaussian_simplex_sample(&mechanism, noise, good, z));
    noise_source_free(noise);
}
