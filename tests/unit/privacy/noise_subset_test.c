/* Random subsets and their sizes against the laws they claim; false alarms: golden.h. */
#include "algos/privacy/noise/noise_discrete.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"
#include "tests/unit/privacy/golden.h"

/* Binomial probabilities 0 .. n. */
static void binomial(double *p, int n, double rate)
{
    for (int j = 0; j <= n; j++)
        p[j] = exp(lgamma(n + 1.0) - lgamma(j + 1.0) - lgamma(n - j + 1.0) + j * log(rate) +
                   (n - j) * log1p(-rate));
}

Test(noise_subset, poisson_batches_follow_the_binomial_law)
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

Test(noise_subset, poisson_extremes)
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
    cr_assert_lt(golden_coins(total, 2000.0 * 2000.0, 1e-3), Z_LIMIT, "%g", total);
    noise_source_free(noise);
}
