/* Exact samplers against the laws they claim; false alarms: golden.h. */
#include "algos/privacy/noise/noise_discrete.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

#define DRAWS 200000

static void check_coins(double true_count, double n, double p, const char *what)
{
    cr_assert_lt(golden_coins(true_count, n, p), Z_LIMIT, "%s: %g of %g", what, true_count, n * p);
}

Test(noise_discrete, categorical)
{
    static const uint64_t small[] = {0, 3, 0, 1, 6, 0},
                          great[] = {UINT64_C(1) << 62, UINT64_C(1) << 62, UINT64_C(1) << 61};
    struct noise_source *noise = golden_noise(43);
    double counts[6] = {0}, wide[3] = {0};
    for (int i = 0; i < DRAWS; i++) {
        counts[noise_categorical(noise, small, 6)] += 1.0;
        wide[noise_categorical(noise, great, 3)] += 1.0;
        cr_assert_eq(noise_categorical(noise, small + 1, 2), 0);
    }
    cr_assert(counts[0] == 0 && counts[2] == 0 && counts[5] == 0,
              "a weight of zero is never drawn");
    double drawn[] = {counts[1], counts[3], counts[4]};
    double expected[] = {0.3 * DRAWS, 0.1 * DRAWS, 0.6 * DRAWS};
    double wide_expected[] = {0.4 * DRAWS, 0.4 * DRAWS, 0.2 * DRAWS};
    cr_assert_lt(golden_chi_square(drawn, expected, 3), CHI_LIMIT);
    cr_assert_lt(golden_chi_square(wide, wide_expected, 3), CHI_LIMIT);
    noise_source_free(noise);
}

enum { HALF = 600, CELLS = 2 * HALF + 1 };

/* Chi-square of DRAWS integers (counted at x + HALF, those beyond at the ends) against weights that
 * are symmetric and fall; cells that expect fewer than 20 are merged at both ends. */
static void check_law(const double *counts, const double *weights, const char *what)
{
    static double got[CELLS], expected[CELLS];
    double sum = 0;
    for (int i = 0; i < CELLS; i++)
        sum += weights[i];
    int edge = 0;
    double tail = 0;
    while (tail + DRAWS * weights[edge] / sum < 20.0)
        tail += DRAWS * weights[edge++] / sum;
    int cells = CELLS - 2 * edge;
    cr_assert_geq(cells, 3, "%s", what);
    for (int i = 0; i < cells; i++) {
        got[i] = counts[edge + i];
        expected[i] = DRAWS * weights[edge + i] / sum;
    }
    for (int i = 0; i < edge; i++) {
        got[0] += counts[i];
        got[cells - 1] += counts[CELLS - 1 - i];
    }
    expected[0] += tail;
    expected[cells - 1] += tail;
    double deviation = golden_chi_square(got, expected, (size_t)cells);
    cr_assert_lt(fabs(deviation), CHI_LIMIT, "%s, %d cells: %g", what, cells, deviation);
}

static int cell(int64_t x)
{
    return x < -HALF ? 0 : x > HALF ? CELLS - 1 : (int)x + HALF;
}

static const uint64_t scales[][2] = {{1, 1}, {1, 3}, {5, 2}, {40, 1}, {1000003, 100000}};

Test(noise_discrete, laplace)
{
    struct noise_source *noise = golden_noise(44);
    for (int c = 0; c < 5; c++) {
        double counts[CELLS] = {0}, weights[CELLS];
        double b = (double)scales[c][0] / (double)scales[c][1];
        for (int i = 0; i < DRAWS; i++)
            counts[cell(noise_discrete_laplace(noise, scales[c][0], scales[c][1]))] += 1.0;
        for (int i = 0; i < CELLS; i++)
            weights[i] = exp(-abs(i - HALF) / b);
        check_law(counts, weights, "Laplace");
    }
    noise_source_free(noise);
}

/* At great scales the law is the continuous one, to 2^-40 and better: also with denominators that
 * 64 bits cannot multiply. */
Test(noise_discrete, great_scales)
{
    static const uint64_t great[][2] = {{UINT64_C(1) << 40, 1},
                                        {(UINT64_C(1) << 56) - 5, 3},
                                        {NOISE_DISCRETE_MAX, 1},
                                        {NOISE_DISCRETE_MAX, (UINT64_C(1) << 15) + 1}};
    enum { N = 100000 };
    double *sample = malloc(N * sizeof *sample);
    struct noise_source *noise = golden_noise(46);
    for (int c = 0; c < 4; c++) {
        double scale = (double)great[c][0] / (double)great[c][1];
        for (int i = 0; i < N; i++)
            sample[i] = (double)noise_discrete_laplace(noise, great[c][0], great[c][1]) / scale;
        cr_assert_lt(golden_ks(sample, N, golden_laplace_cdf), KS_LIMIT, "Laplace %d", c);
    }
    noise_source_free(noise);
    free(sample);
}

/* Next to no noise: zero but for one draw in e^(2^55). */
Test(noise_discrete, small_scales)
{
    struct noise_source *noise = golden_noise(47);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(noise_discrete_laplace(noise, 1, NOISE_DISCRETE_MAX), 0);
    noise_source_free(noise);
}

/* What lies far out: counts beyond ten scales. */
Test(noise_discrete, tails)
{
    enum { N = 1000000 };
    struct noise_source *noise = golden_noise(48);
    double far = 0, low = 0;
    for (int i = 0; i < N; i++) {
        int64_t x = noise_discrete_laplace(noise, 1000, 1);
        far += x >= 10000 || x <= -10000;
        low += x & 1; /* the least bit is as free as the others */
    }
    /* 2 sum_{k >= 10^4} p^k (1-p)/(1+p) with p = exp(-1/1000) */
    double p = exp(-1e-3);
    check_coins(far, N, 2.0 * exp(-10.0) / (1.0 + p), "beyond ten scales");
    check_coins(low, N, 2.0 * p / ((1.0 + p) * (1.0 + p)), "odd");
    noise_source_free(noise);
}
