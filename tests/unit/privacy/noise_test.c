/* Continuous laws against what they claim; false alarms: golden.h. */
#include "algos/privacy/noise/noise.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"
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

/* Below any bound it is as uniform as above, and has more bits than 53 behind the point. */
Test(noise, fine_uniform_is_uniform_near_zero)
{
    enum { N = 10000000 };
    static const double bound[] = {0x1p-10, 0x1p-13, 0x1p-16};
    int below[3] = {0}, coarse = 0;
    struct noise_source *noise = golden_noise(29);
    for (int i = 0; i < N; i++) {
        double u = noise_uniform_fine(noise);
        for (int b = 0; b < 3; b++)
            below[b] += u < bound[b];
        coarse += u < bound[1] && fmod(u, 0x1p-53) == 0.0;
    }
    for (int b = 0; b < 3; b++)
        cr_expect_lt(golden_coins(below[b], N, bound[b]), Z_LIMIT, "%d below %g", below[b],
                     bound[b]);
    cr_expect_leq(coarse, 3, "%d of %d", coarse, below[1]);
    noise_source_free(noise);
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
    cr_assert_lt(golden_z(sum, 0.0, sqrt(N)), Z_LIMIT);
    cr_assert_lt(golden_z(squares, N, sqrt(2.0 * N)), Z_LIMIT);
    cr_assert_lt(golden_z(fourth, 3.0 * N, sqrt(96.0 * N)), Z_LIMIT);
    cr_assert_lt(golden_ks(sample, N, golden_normal_cdf), KS_LIMIT);
    noise_source_free(noise);
    free(v);
    free(sample);
}

/* Each number is computed by itself, in floats with stated roundings: the narrow and the wide way,
 * every compiler and every processor draw the same bits. (None of these is from the tail, where
 * libm has a say.) */
Test(noise, gaussian_add_draws_the_same_bits_everywhere)
{
    float v[2048] = {0};
    uint8_t key[32] = {7};
    uint32_t digest = 2166136261u; /* FNV-1a */
    struct noise_source *noise = noise_source_new_injected(key);
    noise_gaussian_add(noise, v, 2048, 1.5f);
    for (size_t i = 0; i < sizeof v; i++)
        digest = (digest ^ ((const uint8_t *)v)[i]) * 16777619u;
    cr_assert_eq(digest, 30939970u, "%u", digest);
    noise_source_free(noise);
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
    double chance = erfc(4.5 * M_SQRT1_2); /* 54 are expected */
    cr_assert_lt(golden_coins(beyond, BLOCK * BLOCKS, chance), Z_LIMIT, "%d values", beyond);
    cr_assert_leq(far, 2); /* three of 8e6 beyond 6.7: 8e-13 */
    noise_source_free(noise);
    free(v);
}

/* Radii of the far tail come from words below 2^16, which alone would leave rings: a point's place
 * between two words has to be as free as the rest. Of the 28 or so points whose word is below 8000
 * those in the middle fifth of their word's gap are counted: chance puts 7 in 8 of them there with
 * probability 1e-9, rings all of them. */
Test(noise, gaussian_add_has_no_rings_in_the_tail)
{
    enum { BLOCK = 2048, BLOCKS = 14650 };
    float v[BLOCK];
    struct noise_source *noise = golden_noise(14);
    int points = 0, middle = 0;
    for (int b = 0; b < BLOCKS; b++) {
        memset(v, 0, sizeof v);
        noise_gaussian_add(noise, v, BLOCK, 1.0f);
        for (int i = 0; i < BLOCK / 2; i++) {
            float x = v[i], y = v[i + BLOCK / 2]; /* a pair */
            if (x * x + y * y < 26.38f)
                continue;
            double square = (double)x * x + (double)y * y, word = exp(-0.5 * square) * 0x1p32;
            points++;
            middle += fabs(word - floor(word) - 0.5) < 0.1;
        }
    }
    cr_assert(points >= 5 && points <= 70, "%d points", points);
    cr_assert_lt(8 * middle, 7 * points, "%d of %d points", middle, points);
    noise_source_free(noise);
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
    cr_assert_lt(golden_z(plain, 0.0, root), Z_LIMIT, "lag %zu", lag);
    cr_assert_lt(golden_z(squares, 0.0, 2.0 * root), Z_LIMIT, "squares at lag %zu", lag);
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

/* Wide or narrow, optimised or not: every processor draws the same. */
Test(noise, gaussian_add_has_the_same_bits_everywhere)
{
    enum { N = 4096 };
    float v[N] = {0};
    struct noise_source *noise = golden_noise(12);
    noise_gaussian_add(noise, v, N, 2.5f);
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a, a number at a time */
    for (int i = 0; i < N; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3;
    }
    cr_assert_float_eq(v[0], 1.11311615f, 1e-6);
    cr_assert_float_eq(v[N - 1], -0.907959044f, 1e-6);
    cr_assert_eq(hash, 0xacba4c3df93b61a7, "%016lx", (unsigned long)hash);
    noise_source_free(noise);
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

Test(noise, grids)
{
    cr_assert_eq(noise_round_to_grid(0.3, 0.25), 0.25);
    cr_assert_eq(noise_round_to_grid(0.375, 0.25), 0.5, "ties go to the even multiple");
    cr_assert_eq(noise_round_to_grid(-0.625, 0.25), -0.5);
    cr_assert_eq(noise_round_to_grid(1e300, 0x1p-1022), 1e300);
    cr_assert_eq(noise_round_to_grid(0x1.8p-1030, 0x1p-1022), 0.0);
    cr_assert_eq(noise_round_to_grid(7.0, 0x1p1000), 0.0);
    cr_assert_not(signbit(noise_round_to_grid(-0.1, 0.25)), "the sign of zero tells nothing");
    cr_assert_eq(noise_grid_step(4096.0), 1.0);
    cr_assert_eq(noise_grid_step(8191.9), 1.0);
    cr_assert_eq(noise_grid_step(1.0), 0x1p-12);
    cr_assert_eq(noise_grid_step(0.3), 0x1p-14);
    struct noise_source *noise = golden_noise(13);
    for (int i = 0; i < 10000; i++) {
        double scale = exp(20.0 * noise_normal(noise)), step = noise_grid_step(scale);
        double value = scale * noise_normal(noise), rounded = noise_round_to_grid(value, step);
        cr_assert(step <= scale / 4096.0 && 2.0 * step > scale / 4096.0);
        cr_assert_leq(fabs(rounded - value), 0.5 * step);
        cr_assert_eq(fmod(rounded, step), 0.0);
        cr_assert_eq(noise_round_to_grid(rounded, step), rounded);
    }
    noise_source_free(noise);
}
