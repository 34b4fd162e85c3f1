/* The rounded Gaussian: its table against an independent computation, every threshold, and draws.
 * False alarms: golden.h. */
#include "algos/privacy/noise/noise_rounded_gaussian.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/privacy/golden.h"

#define SIGMA ROUNDED_GAUSSIAN_SIGMA
#define MAX   ROUNDED_GAUSSIAN_MAX

typedef unsigned __int128 wide;

static wide golden_wide(const json_t *object, const char *key)
{
    const char *hex = json_string_value(json_object_get(object, key));
    cr_assert(hex && strlen(hex) == 32, "golden file: no number %s", key);
    char upper[17] = {0};
    memcpy(upper, hex, 16);
    return (wide)strtoull(upper, NULL, 16) << 64 | strtoull(hex + 16, NULL, 16);
}

/* P(|R| >= size) in units of 2^-127; 0 beyond the table. */
static wide tail(const struct rounded_gaussian *table, uint32_t size)
{
    uint64_t high = 0, low = 0;
    if (size <= MAX)
        rounded_gaussian_tail(table, size, &high, &low);
    return (wide)high << 64 | low;
}

static bool near(wide a, wide b, wide slack)
{
    wide difference = a > b ? a - b : b - a;
    return difference <= (b >> 60) + slack;
}

Test(rounded_gaussian, table)
{
    struct rounded_gaussian *table = rounded_gaussian_new();
    json_t *golden = golden_load("rounded_gaussian.json");
    const json_t *row, *rows = json_object_get(golden, "rows");
    cr_assert_gt(json_array_size(rows), 30);
    size_t i;
    json_array_foreach(rows, i, row)
    {
        uint32_t size = (uint32_t)golden_number(row, "size");
        wide cell = tail(table, size) - tail(table, size + 1);
        cr_assert(near(cell, golden_wide(row, "cell"), 2), "cell %u", size);
        /* a unit or two for each cell further out, and 3.6e-33 beyond the last */
        cr_assert(near(tail(table, size), golden_wide(row, "tail"), (wide)1 << 20), "tail %u",
                  size);
    }
    cr_assert(near(((wide)1 << 127) - tail(table, 1), golden_wide(golden, "zero"), (wide)1 << 20));
    json_decref(golden);
    rounded_gaussian_free(table);
    rounded_gaussian_free(NULL);
}

/* A number at a threshold is not below it and the one before is: everywhere, so that the guide, the
 * search and the undecided upper halves (all of them beyond nine deviations) are exact. */
Test(rounded_gaussian, thresholds)
{
    struct rounded_gaussian *table = rounded_gaussian_new();
    for (uint32_t size = 1; size <= MAX; size++) {
        wide at = tail(table, size), before = at - 1;
        cr_assert_gt(at, 0);
        cr_assert(at > tail(table, size + 1));
        cr_assert_eq(rounded_gaussian_size(table, (uint64_t)(at >> 64), (uint64_t)at), size - 1);
        cr_assert_eq(rounded_gaussian_size(table, (uint64_t)(before >> 64), (uint64_t)before),
                     size);
    }
    cr_assert_eq(rounded_gaussian_size(table, 0, 0), MAX);
    cr_assert_eq(rounded_gaussian_size(table, UINT64_MAX >> 1, UINT64_MAX), 0);
    rounded_gaussian_free(table);
}

static int64_t *draws(size_t count, unsigned key)
{
    int64_t *values = calloc(count, sizeof *values);
    struct rounded_gaussian *table = rounded_gaussian_new();
    struct noise_source *noise = golden_noise(key);
    rounded_gaussian_add(table, noise, values, count);
    noise_source_free(noise);
    rounded_gaussian_free(table);
    return values;
}

/* P(R <= x) */
static double cdf(double x)
{
    return golden_normal_cdf((x + 0.5) / SIGMA);
}

Test(rounded_gaussian, law)
{
    enum { N = 2000000, WIDTH = 256, HALF = 64, CELLS = 2 * HALF, RESIDUES = 64 };
    int64_t *values = draws(N, 60);
    double counts[CELLS] = {0}, expected[CELLS], residues[RESIDUES] = {0}, even[RESIDUES];
    double sum = 0, squares = 0, far = 0;
    for (int i = 0; i < N; i++) {
        int64_t x = values[i], place = (x + HALF * WIDTH) / WIDTH;
        counts[x < -HALF * WIDTH ? 0 : place >= CELLS ? CELLS - 1 : place] += 1.0;
        residues[(uint64_t)x % RESIDUES] += 1.0;
        sum += (double)x;
        squares += (double)x * (double)x;
        far += llabs(x) > 4 * SIGMA;
    }
    for (int i = 0; i < CELLS; i++) {
        double from = (i - HALF) * WIDTH - 1.0, to = from + WIDTH;
        expected[i] = N * ((i == CELLS - 1 ? 1.0 : cdf(to)) - (i == 0 ? 0.0 : cdf(from)));
    }
    cr_assert_lt(fabs(golden_chi_square(counts, expected, CELLS)), CHI_LIMIT);
    for (int i = 0; i < RESIDUES; i++)
        even[i] = (double)N / RESIDUES;
    cr_assert_lt(fabs(golden_chi_square(residues, even, RESIDUES)), CHI_LIMIT);
    double variance = (double)SIGMA * SIGMA + 1.0 / 12.0;
    cr_assert_lt(golden_z(sum, 0.0, SIGMA * sqrt(N)), Z_LIMIT);
    cr_assert_lt(golden_z(squares / variance, N, sqrt(2.0 * N)), Z_LIMIT);
    double chance = 2.0 * cdf(-4.0 * SIGMA - 1.0); /* 127 are expected */
    cr_assert_lt(golden_coins(far, N, chance), Z_LIMIT, "%g beyond four deviations", far);
    free(values);
}

/* The middle, value by value: where the sign of zero could be counted twice. */
Test(rounded_gaussian, middle)
{
    enum { N = 4000000, HALF = 3, CELLS = 2 * HALF + 1 };
    int64_t *values = draws(N, 61);
    double counts[CELLS] = {0}, expected[CELLS];
    for (int i = 0; i < N; i++)
        if (llabs(values[i]) <= HALF)
            counts[values[i] + HALF] += 1.0;
    for (int i = 0; i < CELLS; i++)
        expected[i] = N / (SIGMA * sqrt(2.0 * M_PI));
    /* 390 each; the cells' sum is free as well, which widens the law by a seventh */
    cr_assert_lt(golden_chi_square(counts, expected, CELLS), CHI_LIMIT + 1.0);
    free(values);
}

Test(rounded_gaussian, adds_to_what_is_there)
{
    static const size_t counts[] = {0, 1, 511, 512, 513, 1500};
    struct rounded_gaussian *table = rounded_gaussian_new();
    for (int c = 0; c < 6; c++) {
        int64_t plain[1501] = {0}, shifted[1501];
        for (int i = 0; i < 1501; i++)
            shifted[i] = INT64_C(1) << 60;
        struct noise_source *a = golden_noise(62), *b = golden_noise(62);
        rounded_gaussian_add(table, a, plain, counts[c]);
        rounded_gaussian_add(table, b, shifted, counts[c]);
        size_t still = 0;
        for (size_t i = 0; i < counts[c]; i++) {
            cr_assert_eq(shifted[i], (INT64_C(1) << 60) + plain[i]);
            still += plain[i] == 0;
        }
        cr_assert_leq(still, 4, "one in ten thousand is zero");
        for (size_t i = counts[c]; i < 1501; i++)
            cr_assert_eq(plain[i], 0, "beyond the end");
        noise_source_free(a);
        noise_source_free(b);
    }
    rounded_gaussian_free(table);
}
