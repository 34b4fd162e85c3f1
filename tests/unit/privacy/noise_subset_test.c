/* Random subsets and their sizes against the laws they claim; false alarms: golden.h. */
#include "algos/privacy/noise/noise_subset.h"

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

/* Every one of the 10 subsets of three out of five comes equally often, in increasing order. */
Test(noise_subset, fixed_samples_are_uniform)
{
    double counts[32] = {0}, got[10], expected[10];
    uint32_t chosen[5];
    struct noise_source *noise = golden_noise(32);
    for (int r = 0; r < 100000; r++) {
        noise_fixed_sample(noise, 3, 5, chosen);
        unsigned set = 0;
        for (int i = 0; i < 3; i++) {
            cr_assert(chosen[i] < 5 && (!i || chosen[i] > chosen[i - 1]));
            set |= 1U << chosen[i];
        }
        counts[set] += 1.0;
    }
    int kinds = 0;
    for (int set = 0; set < 32; set++)
        if (__builtin_popcount((unsigned)set) == 3) {
            got[kinds] = counts[set];
            expected[kinds++] = 10000.0;
        }
    cr_assert_lt(golden_chi_square(got, expected, 10), CHI_LIMIT);
    noise_fixed_sample(noise, 0, 5, NULL);
    noise_fixed_sample(noise, 5, 5, chosen);
    for (uint32_t i = 0; i < 5; i++)
        cr_assert_eq(chosen[i], i);
    noise_source_free(noise);
}

/* The road over the size leads to the law of Poisson sampling: each subset S of four has
 * probability rate^|S| (1 - rate)^(4 - |S|). */
Test(noise_subset, binomial_sampling_is_poisson_sampling)
{
    enum { ROUNDS = 200000 };
    double two_steps[16] = {0}, one_step[16] = {0}, expected[16], rate = 0.3;
    uint32_t chosen[4];
    struct noise_source *noise = golden_noise(33);
    for (int r = 0; r < ROUNDS; r++) {
        unsigned set = 0;
        for (uint32_t i = noise_binomial_sample(noise, rate, 4, 4, chosen); i-- > 0;)
            set |= 1U << chosen[i];
        two_steps[set] += 1.0;
        set = 0;
        for (uint32_t i = noise_poisson_sample(noise, rate, 4, chosen); i-- > 0;)
            set |= 1U << chosen[i];
        one_step[set] += 1.0;
    }
    for (unsigned set = 0; set < 16; set++) {
        int size = __builtin_popcount(set);
        expected[set] = ROUNDS * pow(rate, size) * pow(1.0 - rate, 4 - size);
    }
    cr_assert_lt(golden_chi_square(two_steps, expected, 16), CHI_LIMIT);
    cr_assert_lt(golden_chi_square(one_step, expected, 16), CHI_LIMIT);
    noise_source_free(noise);
}

Test(noise_subset, binomial_counts_and_caps)
{
    enum { N = 1000, ROUNDS = 20000 };
    struct noise_source *noise = golden_noise(34);
    double sum = 0, squares = 0;
    for (int r = 0; r < ROUNDS; r++) {
        double x = noise_binomial(noise, 0.05, N) - 50.0;
        sum += x;
        squares += x * x;
    }
    /* variance 47.5; that of the squares 2 * 47.5^2 and a little */
    cr_assert_lt(golden_z(sum / ROUNDS, 0.0, sqrt(47.5 / ROUNDS)), Z_LIMIT);
    cr_assert_lt(golden_z(squares / ROUNDS, 47.5, 47.5 * sqrt(2.1 / ROUNDS)), Z_LIMIT);
    cr_assert_eq(noise_binomial(noise, 0.0, N), 0);
    cr_assert_eq(noise_binomial(noise, 1.0, N), N);
    uint32_t chosen[30];
    for (int r = 0; r < 100; r++)
        cr_assert_eq(noise_binomial_sample(noise, 0.5, N, 30, chosen), 30);
    noise_source_free(noise);
}
