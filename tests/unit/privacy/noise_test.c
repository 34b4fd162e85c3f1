/* Continuous laws and Poisson batches against what they claim. Keys are fixed, so a test that
 * passes passes always; each limit is what chance alone would break in fewer than one of a million
 * keys.
 */
#include "algos/privacy/noise.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/privacy/golden.h"

static double uniform_cdf(double x)
{
    return x;
}

Test(noise, uniform_is_open_and_uniform)
{
    enum { N = 200000 };
    double *sample = malloc(N * sizeof *sample);
    struct noise_source *noise = golden_noise(5);
    for (int i = 0; i < N; i++) {
        sample[i] = noise_uniform(noise);
        cr_assert(sample[i] > 0.0 && sample[i] < 1.0);
    }
    cr_assert_lt(golden_ks(sample, N, uniform_cdf), KS_LIMIT);
    noise_source_free(noise);
    free(sample);
}

Test(noise, normal)
{
    enum { N = 200000 };
    double *sample = malloc(N * sizeof *sample);
    struct noise_source *noise = golden_noise(6);
    for (int i = 0; i < N; i++)
        sample[i] = noise_normal(noise);
    cr_assert_lt(golden_ks(sample, N, golden_normal_cdf), KS_LIMIT);
    noise_source_free(noise);
    free(sample);
}

Test(noise, gaussian_add_follows_the_normal_law)
{
    enum { N = 1000000 };
    float *v = calloc(N, sizeof *v);
    double *sample = malloc(N * sizeof *sample);
    struct noise_source *noise = golden_noise(7);
    noise_gaussian_add(noise, v, N, 2.5f);
    for (int i = 0; i < N; i++)
        sample[i] = (double)v[i] / 2.5;
    double sum = 0, squares = 0, fourth = 0;
    for (int i = 0; i < N; i++) {
        sum += sample[i];
        squares += sample[i] * sample[i];
        fourth += sample[i] * sample[i] * sample[i] * sample[i];
    }
    /* five standard errors each */
    cr_assert_lt(fabs(sum / N), 5.0 / 1000.0);
    cr_assert_lt(fabs(squares / N - 1.0), 5.0 * sqrt(2.0) / 1000.0);
    cr_assert_lt(fabs(fourth / N - 3.0), 5.0 * sqrt(96.0) / 1000.0);
    cr_assert_lt(golden_ks(sample, N, golden_normal_cdf), KS_LIMIT);
    noise_source_free(noise);
    free(v);
    free(sample);
}

Test(noise, gaussian_add_reaches_into_the_tails)
{
    enum { BLOCK = 100000, BLOCKS = 80 };
    float *v = malloc(BLOCK * sizeof *v);
    struct noise_source *noise = golden_noise(8);
    int beyond = 0, far = 0;
    for (int b = 0; b < BLOCKS; b++) {
        memset(v, 0, BLOCK * sizeof *v);
        noise_gaussian_add(noise, v, BLOCK, 1.0f);
        for (int i = 0; i < BLOCK; i++) {
            beyond += fabsf(v[i]) > 4.5f;
            far += fabsf(v[i]) > 6.7f;
        }
    }
    /* expected 8e6 * 6.795e-6 = 54.4; Poisson beyond these limits: below 1e-6 */
    cr_assert(beyond >= 22 && beyond <= 97, "%d values beyond 4.5", beyond);
    cr_assert_eq(far, 0);
    noise_source_free(noise);
    free(v);
}

/* Correlation of v[i] with v[i + lag], in standard errors; of the values and of their squares. */
static void check_lag(const float *v, size_t n, size_t lag)
{
    double plain = 0, squares = 0;
    for (size_t i = 0; i + lag < n; i++) {
        double x = v[i], y = v[i + lag];
        plain += x * y;
        squares += (x * x - 1.0) * (y * y - 1.0);
    }
    double root = sqrt((double)(n - lag));
    cr_assert_lt(fabs(plain) / root, 5.0, "lag %zu", lag);
    cr_assert_lt(fabs(squares) / (2.0 * root), 5.5, "squares at lag %zu", lag);
}

Test(noise, gaussian_add_is_independent)
{
    static const size_t lags[] = {1, 2, 4, 8, 16, 512, 1023, 1024, 1025, 2048, 4096};
    enum { N = 400000 };
    float *v = calloc(N, sizeof *v);
    struct noise_source *noise = golden_noise(9);
    noise_gaussian_add(noise, v, N, 1.0f);
    for (size_t i = 0; i < sizeof lags / sizeof lags[0]; i++)
        check_lag(v, N, lags[i]);
    noise_source_free(noise);
    free(v);
}

Test(noise, gaussian_add_leaves_nothing_without_noise)
{
    static const size_t counts[] = {1, 2, 3, 7, 1023, 1024, 1025, 2047, 2048, 2049, 5000};
    struct noise_source *noise = golden_noise(10);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        float v[5001];
        for (size_t i = 0; i < 5001; i++)
            v[i] = 1.0f;
        noise_gaussian_add(noise, v, counts[c], 1.0f);
        size_t same = 0;
        for (size_t i = 0; i < counts[c]; i++)
            same += v[i] == 1.0f;
        /* one value in 2e7 may round to no change */
        cr_assert_leq(same, 1, "%zu of %zu values untouched", same, counts[c]);
        for (size_t i = counts[c]; i < 5001; i++)
            cr_assert_eq(v[i], 1.0f, "beyond the end");
        noise_gaussian_add(noise, v, counts[c], 0.0f);
    }
    noise_source_free(noise);
}

static double gamma_half_cdf(double log_x)
{
    return erf(sqrt(exp(log_x)));
}

static double gamma_one_cdf(double log_x)
{
    return -expm1(-exp(log_x));
}

static double gamma_twenty_cdf(double log_x)
{
    double x = exp(log_x), term = exp(-x), sum = 0;
    for (int j = 0; j < 20; j++) {
        sum += term;
        term *= x / (j + 1);
    }
    return 1.0 - sum;
}

/* Shape 1e-4: P(G <= x) = x^a (1 - a x + ...)/Gamma(1 + a); below x = 1e-3 the rest is under 1e-6.
 */
static double gamma_tiny_cdf(double log_x)
{
    double a = 1e-4;
    return log_x < log(1e-3) ? exp(a * log_x - lgamma(1.0 + a)) : 1.0;
}

Test(noise, log_gamma)
{
    static const struct {
        double shape;
        double (*cdf)(double);
    } cases[] = {{0.5, gamma_half_cdf},
                 {1.0, gamma_one_cdf},
                 {20.0, gamma_twenty_cdf},
                 {1e-4, gamma_tiny_cdf}};
    enum { N = 50000 };
    double *sample = malloc(N * sizeof *sample);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct noise_source *noise = golden_noise(20 + (unsigned)c);
        for (int i = 0; i < N; i++) {
            sample[i] = noise_log_gamma(noise, cases[c].shape);
            cr_assert(isfinite(sample[i]));
        }
        double distance = golden_ks(sample, N, cases[c].cdf);
        cr_assert_lt(distance, KS_LIMIT, "shape %g: %g", cases[c].shape, distance);
        noise_source_free(noise);
    }
    free(sample);
}

/* Binomial probabilities 0 .. n. */
static void binomial(double *p, int n, double rate)
{
    for (int j = 0; j <= n; j++)
        p[j] = exp(lgamma(n + 1.0) - lgamma(j + 1.0) - lgamma(n - j + 1.0) + j * log(rate) +
                   (n - j) * log1p(-rate));
}

Test(noise, poisson_batches_follow_the_binomial_law)
{
    enum { N = 60, ROUNDS = 100000 };
    double p[N + 1], counts[24] = {0}, expected[24] = {0}, members[N] = {0}, equal[N];
    double rate = 0.2;
    uint32_t chosen[N];
    struct noise_source *noise = golden_noise(30);
    binomial(p, N, rate);
    for (int r = 0; r < ROUNDS; r++) {
        uint32_t count = noise_poisson_sample(noise, rate, N, chosen);
        counts[count < 23 ? count : 23] += 1.0;
        for (uint32_t i = 0; i < count; i++) {
            cr_assert(chosen[i] < N && (!i || chosen[i] > chosen[i - 1]));
            members[chosen[i]] += 1.0;
        }
    }
    for (int j = 0; j <= N; j++)
        expected[j < 23 ? j : 23] += ROUNDS * p[j];
    /* the first cells are merged: their expectations are too small for a chi-square */
    for (int j = 0; j < 3; j++) {
        counts[3] += counts[j];
        expected[3] += expected[j];
    }
    cr_assert_lt(fabs(golden_chi_square(counts + 3, expected + 3, 21)), CHI_LIMIT);
    for (int i = 0; i < N; i++)
        equal[i] = ROUNDS * rate;
    /* cells are binomial, so their spread is (1 - rate) of a Poisson's: a wide limit on one side */
    cr_assert_lt(golden_chi_square(members, equal, N), CHI_LIMIT);
    noise_source_free(noise);
}

Test(noise, poisson_extremes)
{
    uint32_t chosen[2000];
    struct noise_source *noise = golden_noise(31);
    cr_assert_eq(noise_poisson_sample(noise, 0.0, 2000, chosen), 0);
    cr_assert_eq(noise_poisson_sample(noise, 1.0, 2000, chosen), 2000);
    for (uint32_t i = 0; i < 2000; i++)
        cr_assert_eq(chosen[i], i);
    cr_assert_eq(noise_poisson_sample(noise, 0.5, 0, chosen), 0);
    double total = 0;
    for (int r = 0; r < 2000; r++)
        total += noise_poisson_sample(noise, 1e-3, 2000, chosen);
    /* expected 4000, standard deviation 63 */
    cr_assert(fabs(total - 4000.0) < 5.0 * 63.3, "%g", total);
    noise_source_free(noise);
}
