/* The rounded Gaussian: the bounds on which its rounding rests, and draws. False alarms: golden.h.
 */
#include "algos/privacy/noise/noise_rounded_gaussian.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/noise/noise_source.h"
#include "tests/unit/privacy/golden.h"

#define SIGMA 4096.0

/* Bits of U and V: uniform ones, small and large words of U, and the last of both kinds. */
struct coins {
    uint32_t u, v;
    uint64_t more[5];
};

static struct coins coins_of(struct noise_source *noise, int kind)
{
    struct coins coins = {.u = (uint32_t)noise_u64(noise), .v = (uint32_t)noise_u64(noise)};
    noise_bytes(noise, coins.more, sizeof coins.more);
    if (kind == 1)
        coins.u >>= noise_below(noise, 33) % 32;
    if (kind == 2)
        coins.u = ~(coins.u >> noise_below(noise, 32));
    if (kind == 3) {
        coins.u = 0;
        coins.more[0] >>= noise_below(noise, 64);
    }
    return coins;
}

/* sqrt(-2 ln u) and the direction, by the C library in long double: another way to the same
 * numbers, right to some 1e-17. */
static void library_pair(const struct coins *c, double stddev, long double out[2])
{
    const long double quarter = 1.57079632679489661923132169163975144L;
    long double rest = (long double)c->more[0] + (long double)c->more[2] * 0x1p-64L;
    long double u = ((long double)c->u + rest * 0x1p-64L) * 0x1p-32L;
    long double turn =
        ((long double)(c->v & 0x3fffffff) + (long double)c->more[1] * 0x1p-64L) * 0x1p-30L - 0.5L;
    long double angle = (turn + (long double)(c->v >> 30)) * quarter;
    long double radius = (long double)stddev * sqrtl(-2.0L * logl(u));
    out[0] = radius * cosl(angle);
    out[1] = radius * sinl(angle);
}

Test(rounded_gaussian, fine_numbers_are_those_of_the_c_library)
{
    struct noise_source *noise = golden_noise(63);
    for (int i = 0; i < 20000; i++) {
        struct coins c = coins_of(noise, i % 4);
        int64_t out[2];
        double rest[2];
        long double wanted[2];
        if (~c.u < 64) /* near 1 the library's argument keeps too few bits */
            continue;
        rounded_gaussian_fine(c.u, c.v, c.more, SIGMA, out, rest);
        library_pair(&c, SIGMA, wanted);
        for (int k = 0; k < 2; k++) {
            cr_assert_leq(fabs(rest[k]), 0.5);
            cr_assert_lt(fabsl((long double)out[k] + (long double)rest[k] - wanted[k]), 2e-11L,
                         "%u %u", c.u, c.v);
        }
    }
    noise_source_free(noise);
}

static void expect_within(const struct rounded_gaussian_pair *pair, const int64_t out[2],
                          const double rest[2], const struct coins *c)
{
    cr_assert_leq(fabs((pair->x - (double)out[0]) - rest[0]), pair->slack, "%u %u", c->u, c->v);
    cr_assert_leq(fabs((pair->y - (double)out[1]) - rest[1]), pair->slack, "%u %u", c->u, c->v);
}

/* Where a bound says that an integer is decided, it is the one that all bits decide. */
Test(rounded_gaussian, no_bound_is_exceeded)
{
    static const double stddevs[] = {1.0, 4096.0, 0x1p18, 0x1p36};
    struct noise_source *noise = golden_noise(64);
    int decided = 0;
    for (int i = 0; i < 40000; i++) {
        struct coins c = coins_of(noise, i % 4);
        double stddev = stddevs[i / 4 % 4], rest[2];
        int64_t out[2];
        rounded_gaussian_fine(c.u, c.v, c.more, stddev, out, rest);
        struct rounded_gaussian_pair rough = rounded_gaussian_rough(c.u, c.v, stddev);
        struct rounded_gaussian_pair middle = rounded_gaussian_middle(c.u, c.v, c.more, stddev);
        expect_within(&rough, out, rest, &c);
        expect_within(&middle, out, rest, &c);
        if (fabs(rough.x - rint(rough.x)) + rough.slack < 0.5) {
            cr_assert_eq((int64_t)rint(rough.x), out[0]);
            decided++;
        }
    }
    cr_assert_gt(decided, 15000);
    noise_source_free(noise);
}

/* Each border of a small deviation, where the bits of V are all that differs. */
Test(rounded_gaussian, what_is_in_doubt_is_decided_by_further_bits)
{
    struct noise_source *noise = golden_noise(65);
    int apart = 0;
    for (int i = 0; i < 200000 && apart < 20; i++) {
        struct coins low = coins_of(noise, 0), high;
        struct rounded_gaussian_pair rough = rounded_gaussian_rough(low.u, low.v, 0x1p18);
        int64_t a[2], b[2];
        double rest[2];
        if (fabs(rough.x - rint(rough.x)) + rough.slack < 0.5)
            continue;
        high = low;
        low.more[0] = low.more[1] = 0;
        high.more[0] = high.more[1] = UINT64_MAX;
        rounded_gaussian_fine(low.u, low.v, low.more, 0x1p18, a, rest);
        rounded_gaussian_fine(high.u, high.v, high.more, 0x1p18, b, rest);
        cr_assert_leq(llabs(a[0] - b[0]), 1 + (int64_t)(2.0 * rough.slack));
        apart += a[0] != b[0];
    }
    cr_assert_geq(apart, 20);
    noise_source_free(noise);
}

/* What 32 bits leave in doubt: the rule of the fast sampler. */
static bool is_doubtful(const struct rounded_gaussian_pair *pair)
{
    double x = 0.5 - fabs(pair->x - rint(pair->x)), y = 0.5 - fabs(pair->y - rint(pair->y));
    return fmin(x, y) - (pair->slack + 0x1p-50) < 0.0;
}

/* The integers of the 1024 pairs that WORDS begin, each by all bits in 113-bit arithmetic. Where
 * the fast sampler takes further bits from SOURCE, in this order, they are the same bits; elsewhere
 * any bits must do. */
static int slow_block(struct noise_source *source, struct noise_source *any, const uint32_t *words,
                      double stddev, int64_t *out)
{
    int drawn = 0;
    for (int i = 0; i < 1024; i++) {
        uint64_t more[5];
        int64_t pair[2];
        double rest[2];
        noise_bytes(any, more, sizeof more);
        struct rounded_gaussian_pair rough =
            rounded_gaussian_rough(words[i], words[1024 + i], stddev);
        if (is_doubtful(&rough)) {
            noise_bytes(source, more, 2 * sizeof more[0]);
            struct rounded_gaussian_pair middle =
                rounded_gaussian_middle(words[i], words[1024 + i], more, stddev);
            if (is_doubtful(&middle))
                noise_bytes(source, more + 2, 3 * sizeof more[0]);
            drawn++;
        }
        rounded_gaussian_fine(words[i], words[1024 + i], more, stddev, pair, rest);
        out[i] = pair[0];
        out[1024 + i] = pair[1];
    }
    return drawn;
}

/* The fast sampler draws what a slow one makes of the same bits, integer by integer. */
Test(rounded_gaussian, equals_a_slow_sampler_on_the_same_bits)
{
    static const double stddevs[] = {1.0, 4096.0, 0x1p18, 0x1p30};
    struct noise_source *any = golden_noise(67);
    int drawn = 0;
    for (unsigned k = 0; k < 4; k++) {
        struct noise_source *fast = golden_noise(68 + k), *slow = golden_noise(68 + k);
        for (int round = 0; round < 12; round++) {
            int64_t values[2048] = {0}, wanted[2048];
            uint32_t words[2048];
            rounded_gaussian_add(fast, stddevs[k], values, 2048);
            noise_bytes(slow, words, sizeof words);
            drawn += slow_block(slow, any, words, stddevs[k], wanted);
            for (int i = 0; i < 2048; i++)
                cr_assert_eq(values[i], wanted[i], "stddev %g, draw %d", stddevs[k], i);
        }
        noise_source_free(fast);
        noise_source_free(slow);
    }
    cr_expect_gt(drawn, 1000, "further bits were needed");
    noise_source_free(any);
}

/* -2 ln U = (k deviations)^2, by the C library: each border between 1 and 7 deviations is met by
 * the words on its two sides, so the tails hold what they should. */
Test(rounded_gaussian, tails_are_whole_to_seven_deviations)
{
    for (int k = 1; k <= 7; k++) {
        long double u = expl(-0.5L * k * k) * 0x1p32L;
        uint32_t word = (uint32_t)u;
        uint64_t middle = (uint64_t)((u - word) * 0x1p64L);
        for (int side = -1; side <= 1; side += 2) {
            /* 2^-38 of U farther, or less far, out; along the diagonal */
            uint64_t away = (uint64_t)(u * 0x1p26L); /* in units of 2^-64 of a word */
            uint64_t low = middle + (side < 0 ? away : -away);
            uint32_t high = word + (side < 0 && low < middle) - (side > 0 && low > middle);
            const uint64_t more[5] = {low, 0, 0, 0, 0};
            int64_t out[2];
            double rest[2];
            rounded_gaussian_fine(high, 0x20000000, more, 0x1p30, out, rest);
            double x = (double)out[0] + rest[0], y = (double)out[1] + rest[1];
            double radius = hypot(x, y) * 0x1p-30;
            cr_expect(side < 0 ? radius < k : radius > k, "%d %d: %.12g", k, side, radius);
            cr_expect_float_eq(radius, k, 1e-11);
        }
    }
}

/* U = 1 - w with w = 2^-63: ln U = -w - w^2 / 2, so R^2 = 2 w to a relative 2^-64. */
Test(rounded_gaussian, keeps_its_bits_near_the_middle)
{
    const uint64_t more[5] = {~(UINT64_C(1) << 33) + 1, 0, 0, 1 << 20, 0};
    const double stddev = 0x1p36, radius = stddev * exp2(-31.0);
    int64_t out[2];
    double rest[2];
    rounded_gaussian_fine(UINT32_MAX, 0x20000000, more, stddev, out, rest);
    cr_assert_float_eq(hypot((double)out[0] + rest[0], (double)out[1] + rest[1]), radius,
                       1e-12 * radius);
}

Test(rounded_gaussian, reaches_beyond_twelve_deviations)
{
    const uint64_t more[5] = {1 << 20, 5, 7, 9, 11};
    int64_t out[2];
    double rest[2];
    rounded_gaussian_fine(0, 0x20000000, more, SIGMA, out, rest);
    cr_assert_gt(hypot((double)out[0], (double)out[1]), 10.0 * SIGMA);
    const uint64_t least[5] = {0, 5, 7, 9, 11};
    rounded_gaussian_fine(0, 0x20000000, least, SIGMA, out, rest);
    cr_assert_gt(hypot((double)out[0], (double)out[1]), 12.0 * SIGMA);
}

static int64_t *draws(size_t count, unsigned key, double stddev)
{
    int64_t *values = calloc(count, sizeof *values);
    struct noise_source *noise = golden_noise(key);
    rounded_gaussian_add(noise, stddev, values, count);
    noise_source_free(noise);
    return values;
}

/* P(R <= x) */
static double cdf(double x, double stddev)
{
    return golden_normal_cdf((x + 0.5) / stddev);
}

Test(rounded_gaussian, law)
{
    enum { N = 2000000, WIDTH = 256, HALF = 64, CELLS = 2 * HALF, RESIDUES = 64 };
    int64_t *values = draws(N, 60, SIGMA);
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
        expected[i] =
            N * ((i == CELLS - 1 ? 1.0 : cdf(to, SIGMA)) - (i == 0 ? 0.0 : cdf(from, SIGMA)));
    }
    cr_assert_lt(fabs(golden_chi_square(counts, expected, CELLS)), CHI_LIMIT);
    for (int i = 0; i < RESIDUES; i++)
        even[i] = (double)N / RESIDUES;
    cr_assert_lt(fabs(golden_chi_square(residues, even, RESIDUES)), CHI_LIMIT);
    double variance = SIGMA * SIGMA + 1.0 / 12.0;
    cr_assert_lt(golden_z(sum, 0.0, SIGMA * sqrt(N)), Z_LIMIT);
    cr_assert_lt(golden_z(squares / variance, N, sqrt(2.0 * N)), Z_LIMIT);
    double chance = 2.0 * cdf(-4.0 * SIGMA - 1.0, SIGMA); /* 127 are expected */
    cr_assert_lt(golden_coins(far, N, chance), Z_LIMIT, "%g beyond four deviations", far);
    free(values);
}

/* The middle, value by value: where the sign of zero could be counted twice. */
Test(rounded_gaussian, middle)
{
    enum { N = 4000000, HALF = 3, CELLS = 2 * HALF + 1 };
    int64_t *values = draws(N, 61, SIGMA);
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
    static const size_t counts[] = {0, 1, 511, 2047, 2048, 2500};
    for (int c = 0; c < 6; c++) {
        int64_t plain[2501] = {0}, shifted[2501];
        for (int i = 0; i < 2501; i++)
            shifted[i] = INT64_C(1) << 60;
        struct noise_source *a = golden_noise(62), *b = golden_noise(62);
        rounded_gaussian_add(a, SIGMA, plain, counts[c]);
        rounded_gaussian_add(b, SIGMA, shifted, counts[c]);
        size_t still = 0;
        for (size_t i = 0; i < counts[c]; i++) {
            cr_assert_eq(shifted[i], (INT64_C(1) << 60) + plain[i]);
            still += plain[i] == 0;
        }
        cr_assert_leq(still, 4, "one in ten thousand is zero");
        for (size_t i = counts[c]; i < 2501; i++)
            cr_assert_eq(plain[i], 0, "beyond the end");
        noise_source_free(a);
        noise_source_free(b);
    }
}

/* Integer by integer where the deviation is three steps. */
Test(rounded_gaussian, small_deviations)
{
    enum { N = 3000000, HALF = 13, CELLS = 2 * HALF + 1 };
    const double stddev = 3.0;
    int64_t *values = draws(N, 66, stddev);
    double counts[CELLS] = {0}, expected[CELLS];
    for (int i = 0; i < N; i++) {
        int64_t place = values[i] + HALF;
        counts[place < 0 ? 0 : place >= CELLS ? CELLS - 1 : place] += 1.0;
    }
    for (int i = 0; i < CELLS; i++) {
        double x = i - HALF;
        double above = i == CELLS - 1 ? 1.0 : cdf(x, stddev);
        expected[i] = N * (above - (i == 0 ? 0.0 : cdf(x - 1.0, stddev)));
    }
    cr_assert_lt(fabs(golden_chi_square(counts, expected, CELLS)), CHI_LIMIT);
    free(values);
}
