/* Beta-binomial draws: the logarithm that decides them, its bound, and the law. False alarms:
 * golden.h. */
#include "algos/privacy/noise/noise_beta_binomial.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

Test(beta_binomial, logarithm_stays_within_its_bound)
{
    json_t *root = golden_load("beta_binomial.json"), *one;
    size_t i;
    double worst = 0.0;
    json_array_foreach(json_object_get(root, "differences"), i, one)
    {
        double a = golden_number(one, "a"), b = golden_number(one, "b");
        double trials = golden_number(one, "trials"), want = golden_number(one, "value");
        double got = noise_beta_binomial_log(trials, a, b, golden_number(one, "n")) -
                     noise_beta_binomial_log(trials, a, b, golden_number(one, "from"));
        /* the bound is of the ratio of two probabilities, so of twice the error of a logarithm */
        double bound = noise_beta_binomial_error(a + b), rounded = 0x1p-52 * fabs(want);
        cr_expect_leq(fabs(got - want), bound + rounded, "row %zu: %.17g for %.17g", i, got, want);
        worst = fmax(worst, fabs(got - want) / bound);
    }
    cr_assert_eq(i, 172);
    cr_assert_gt(worst, 1e-3, "the bound is not vacuous");
    json_decref(root);
}

static void expect_law(struct noise_source *noise, uint32_t trials, double a, double b)
{
    enum { N = 400000 };
    double seen[64] = {0}, wanted[64], sum = 0.0;
    for (int i = 0; i < N; i++)
        seen[noise_beta_binomial(noise, trials, a, b)]++;
    for (uint32_t n = 0; n <= trials; n++) { /* by the C library's ln Gamma: another way */
        wanted[n] = exp(lgamma(n + a) - lgamma(n + 1.0) + lgamma(trials - n + b) -
                        lgamma(trials - n + 1.0));
        sum += wanted[n];
    }
    size_t cells = 0;
    for (uint32_t n = 0; n <= trials; n++) {
        double expected = N * wanted[n] / sum;
        if (cells > 0 && fmin(expected, wanted[cells - 1]) < 50.0) { /* rare ones join others */
            wanted[cells - 1] += expected;
            seen[cells - 1] += seen[n];
        } else {
            wanted[cells] = expected;
            seen[cells++] = seen[n];
        }
    }
    cr_expect_lt(golden_chi_square(seen, wanted, cells), CHI_LIMIT, "%u %g %g", trials, a, b);
}

Test(beta_binomial, counts_follow_the_law)
{
    struct noise_source *noise = golden_noise(120);
    expect_law(noise, 1, 1.0, 1.0);
    expect_law(noise, 12, 1.0, 1.0);
    expect_law(noise, 40, 2.5, 3.75);
    expect_law(noise, 40, 1.0, 6.5);
    expect_law(noise, 30, 1.25, 1.0);
    expect_law(noise, 50, 9.0, 14.5);
    cr_expect_eq(noise_beta_binomial(noise, 0, 2.0, 3.0), 0);
    noise_source_free(noise);
}

static double beta_2_3_cdf(double x)
{
    return x * x * (6.0 + x * (3.0 * x - 8.0));
}

static double exponential_cdf(double x)
{
    return -expm1(-x);
}

/* Of 2^40 trials the share is Beta; of a great shape, after scaling, exponential. */
Test(beta_binomial, many_trials_show_the_continuous_law)
{
    enum { N = 100000 };
    double *sample = malloc(N * sizeof *sample);
    struct noise_source *noise = golden_noise(121);
    for (int i = 0; i < N; i++)
        sample[i] = (double)noise_beta_binomial(noise, NOISE_BETA_BINOMIAL_TRIALS, 2, 3) * 0x1p-40;
    cr_expect_lt(golden_ks(sample, N, beta_2_3_cdf), KS_LIMIT);
    for (int i = 0; i < N; i++)
        sample[i] =
            -(1e6 - 1.0) *
            log1p(-(double)noise_beta_binomial(noise, NOISE_BETA_BINOMIAL_TRIALS, 1, 1e6 - 1) *
                  0x1p-40);
    cr_expect_lt(golden_ks(sample, N, exponential_cdf), KS_LIMIT);
    noise_source_free(noise);
    free(sample);
}

/* The extremes of shapes and counts end, and no exponent is positive (an assertion). */
Test(beta_binomial, extremes)
{
    static const double shapes[][2] = {{1, 1}, {1, 999999999}, {5e8, 5e8}, {1, 3}, {700, 1}};
    struct noise_source *noise = golden_noise(122);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (uint64_t trials = 1; trials <= NOISE_BETA_BINOMIAL_TRIALS; trials *= 4)
            for (int k = 0; k < 30; k++)
                cr_assert_leq(noise_beta_binomial(noise, trials, shapes[i][0], shapes[i][1]),
                              trials);
    noise_source_free(noise);
}
