/* Exact normal noise on the integers: its law at scales small, large and between; false alarms:
 * golden.h. */
#include "algos/privacy/noise/noise_lattice.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

#define ONE ((double)(1 << NOISE_LATTICE_FRACTION))

/* P(round(N(0, s^2)) = x), as a difference in the tail where it does not cancel. */
static double mass(double s, double x)
{
    double a = (fabs(x) - 0.5) / s, b = (fabs(x) + 0.5) / s;
    return 0.5 * (erfc(a * M_SQRT1_2) - erfc(b * M_SQRT1_2));
}

Test(noise_lattice, is_the_rounded_normal_law)
{
    static const double deviations[] = {0.1, 0.5, 1.0, 2.7, 6.0};
    struct noise_source *noise = golden_noise(80);
    enum { N = 300000, REACH = 40 };
    for (size_t d = 0; d < sizeof deviations / sizeof *deviations; d++) {
        double s = deviations[d], counts[2 * REACH + 1] = {0}, expected[2 * REACH + 1] = {0};
        for (int i = 0; i < N; i++) {
            int64_t x = noise_lattice_gaussian(noise, (uint64_t)(s * ONE));
            cr_assert(x >= -REACH && x <= REACH);
            counts[x + REACH]++;
        }
        size_t cells = 0;
        double seen[2 * REACH + 1] = {0}, other = 0, others = 0;
        for (int x = -REACH; x <= REACH; x++) {
            double want = N * mass(floor(s * ONE) / ONE, x);
            if (want > 20.0) {
                seen[cells] = counts[x + REACH];
                expected[cells++] = want;
            } else {
                other += counts[x + REACH];
                others += want;
            }
        }
        if (cells > 1)
            cr_expect_lt(golden_chi_square(seen, expected, cells), CHI_LIMIT, "deviation %g", s);
        cr_expect_lt(golden_coins(other, N, others / N), Z_LIMIT, "tails of %g", s);
    }
    noise_source_free(noise);
}

Test(noise_lattice, is_normal_at_large_scales)
{
    enum { N = 200000 };
    double *sample = malloc(N * sizeof *sample);
    cr_assert_not_null(sample);
    struct noise_source *noise = golden_noise(81);
    static const double deviations[] = {52429.0, 0x1p32}; /* the second is the greatest */
    for (size_t d = 0; d < 2; d++) {
        double fourth = 0;
        for (int i = 0; i < N; i++) {
            sample[i] = (double)noise_lattice_gaussian(noise, (uint64_t)(deviations[d] * ONE)) /
                        deviations[d];
            fourth += pow(sample[i], 4.0) / N;
        }
        cr_expect_lt(golden_ks(sample, N, golden_normal_cdf), KS_LIMIT);
        cr_expect_lt(golden_z(fourth, 3.0, sqrt(96.0 / N)), Z_LIMIT);
    }
    noise_source_free(noise);
    free(sample);
}

/* The border between two integers lies within the first digit, or the second: the digits after it
 * decide. Draws are never so near to one, so it is built: scale * x = (2i - 1) 2^83. */
Test(noise_lattice, borders_are_told_by_the_next_digits)
{
    typedef unsigned __int128 wide;
    struct noise_source *noise = golden_noise(94);
    int within = 0;
    for (int round = 0; round < 20000; round++) {
        uint64_t scale = 1 + (noise_u64(noise) >> (12 + noise_below(noise, 40)));
        uint64_t most = (uint64_t)(((wide)scale * 60) >> NOISE_LATTICE_FRACTION);
        if (most < 1)
            continue;
        int64_t i = 1 + (int64_t)(noise_u64(noise) % most);
        wide border = (wide)(2 * (uint64_t)i - 1) << 83, quotient = border / scale;
        wide rest = border % scale;
        uint32_t k = (uint32_t)(quotient >> 64);
        uint64_t digits[NOISE_LATTICE_DIGITS] = {(uint64_t)quotient};
        for (int place = 1; place < 3; place++) {
            digits[place] = (uint64_t)((rest << 64) / scale);
            rest = (rest << 64) % scale;
            /* With these digits x is below the border, or just on it; one more is above it. */
            cr_assert_eq(noise_lattice_round(scale, k, digits), rest ? i - 1 : i);
            within += rest != 0;
            uint64_t after[NOISE_LATTICE_DIGITS] = {digits[0], digits[1], digits[2]};
            if (after[place] < UINT64_MAX) {
                after[place]++;
                cr_assert_eq(noise_lattice_round(scale, k, after), i);
            }
        }
    }
    cr_assert_gt(within, 10000, "%d", within);
    noise_source_free(noise);
}

Test(noise_lattice, low_bits_are_even_coins)
{
    struct noise_source *noise = golden_noise(82);
    enum { N = 100000 };
    int ones[8] = {0};
    for (int i = 0; i < N; i++) {
        int64_t x = noise_lattice_gaussian(noise, NOISE_LATTICE_MAX);
        for (int bit = 0; bit < 8; bit++)
            ones[bit] += (int)(x >> bit & 1);
    }
    for (int bit = 0; bit < 8; bit++)
        cr_expect_lt(golden_coins(ones[bit], N, 0.5), Z_LIMIT, "bit %d: %d", bit, ones[bit]);
    noise_source_free(noise);
}

Test(noise_lattice, tiny_deviations_are_zero)
{
    struct noise_source *noise = golden_noise(83);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(noise_lattice_gaussian(noise, 1), 0);
    noise_source_free(noise);
}
