/* The table of the rounded Gaussian and draws from it.
 *
 * DESIGN. A cell's mass is the integral of the normal density over it, by Taylor's series about its
 * middle in long double: never a difference of two values of erf, which would lose half of the
 * digits near the middle and all of them in the tail. Masses become integers in units of 2^-127 and
 * are summed from the tail inwards, exactly.
 *
 * A draw is a sign and a uniform number of 127 bits, of which 63 come with the sign in one word;
 * the other 64 are drawn only when those do not decide. |R| >= k when the number is below the k-th
 * threshold; the upper 12 bits say between which thresholds to search. */
#include "algos/privacy/noise/noise_rounded_gaussian.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"
#include "memory/memory.h"

#define SIZES         ROUNDED_GAUSSIAN_MAX
#define ONE_BITS      127 /* probability 1 is 2^127 */
#define GUIDE_BITS    12
#define GUIDE_SHIFT   (ONE_BITS - 64 - GUIDE_BITS)
#define WORDS_AT_ONCE 512 /* random words fetched at once */

typedef unsigned __int128 wide;
static_assert(LDBL_MANT_DIG >= 64, "the stated errors are those of 64 bits");

struct rounded_gaussian {
    uint64_t high[SIZES], low[SIZES];      /* [k-1]: P(|R| >= k), falling */
    uint32_t guide[(1 << GUIDE_BITS) + 1]; /* [g]: how many have high >= g << GUIDE_SHIFT */
};

/* P(|R| = size) to a relative 2^-61. With x the middle, h = 1/4096 and density f:
 * integral = h f(x) (1 + h^2 He2(x)/24 + h^4 He4(x)/1920 + ...); up to x = 12 the next term is
 * below 2e-21, a thirtieth of an ulp. The exponent is exact: size^2 has 32 bits. */
static long double cell_mass(uint32_t size)
{
    const long double h = 1.0L / ROUNDED_GAUSSIAN_SIGMA;
    const long double peak = 0.398942280401432677939946059934L; /* 1 / sqrt(2 pi) */
    long double x = (long double)size * h, x2 = x * x, h2 = h * h;
    long double he2 = x2 - 1.0L;
    long double he4 = (x2 - 6.0L) * x2 + 3.0L;
    long double series = h2 * (he2 / 24.0L + h2 * he4 / 1920.0L);
    long double density = h * peak * expl(-0.5L * x2);
    return (size ? 2.0L : 1.0L) * (density + density * series);
}

/* In units of 2^-127. */
static wide tail_units(long double mass)
{
    return (wide)ldexpl(mass, ONE_BITS);
}

/* By how many units the cells miss 1; a share of it goes to each. */
static __int128 missing_units(void)
{
    wide sum = 0;
    for (uint32_t k = 0; k <= SIZES; k++)
        sum += tail_units(cell_mass(k));
    return (__int128)(((wide)1 << ONE_BITS) - sum);
}

static void fill_guide(struct rounded_gaussian *table)
{
    uint32_t k = SIZES;
    for (uint64_t g = 0; g <= 1 << GUIDE_BITS; g++) {
        while (k > 0 && table->high[k - 1] < g << GUIDE_SHIFT)
            k--;
        table->guide[g] = k;
    }
}

struct rounded_gaussian *rounded_gaussian_new(void)
{
    struct rounded_gaussian *table = memory_new(1, sizeof *table);
    long double missing = ldexpl((long double)missing_units(), -ONE_BITS);
    wide tail = 0;
    for (uint32_t k = SIZES; k > 0; k--) {
        long double mass = cell_mass(k), share = mass * missing;
        tail += share < 0 ? tail_units(mass) - tail_units(-share)
                          : tail_units(mass) + tail_units(share);
        table->high[k - 1] = (uint64_t)(tail >> 64);
        table->low[k - 1] = (uint64_t)tail;
    } /* what is left belongs to zero */
    assert(tail < (wide)1 << ONE_BITS);
    fill_guide(table);
    return table;
}

void rounded_gaussian_free(struct rounded_gaussian *table)
{
    free(table);
}

void rounded_gaussian_tail(const struct rounded_gaussian *table, uint32_t size, uint64_t *high,
                           uint64_t *low)
{
    assert(size >= 1 && size <= SIZES);
    *high = table->high[size - 1];
    *low = table->low[size - 1];
}

/* How many thresholds have an upper half above UPPER. */
static uint32_t size_search(const struct rounded_gaussian *table, uint64_t upper)
{
    uint64_t g = upper >> GUIDE_SHIFT;
    uint32_t first = table->guide[g + 1], last = table->guide[g];
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        bool above = table->high[middle] > upper;
        first = above ? middle + 1 : first;
        last = above ? last : middle;
    }
    return first;
}

uint32_t rounded_gaussian_size(const struct rounded_gaussian *table, uint64_t upper, uint64_t lower)
{
    assert(upper >> 63 == 0);
    uint32_t size = size_search(table, upper);
    while (size < SIZES && table->high[size] == upper && table->low[size] > lower)
        size++;
    return size;
}

static uint32_t draw_size(const struct rounded_gaussian *table, struct noise_source *source,
                          uint64_t upper)
{
    uint32_t size = size_search(table, upper);
    if (size == SIZES || table->high[size] != upper)
        return size;
    return rounded_gaussian_size(table, upper, noise_u64(source));
}

void rounded_gaussian_add(const struct rounded_gaussian *table, struct noise_source *source,
                          int64_t *values, size_t count)
{
    uint64_t words[WORDS_AT_ONCE];
    while (count) {
        size_t part = count < WORDS_AT_ONCE ? count : WORDS_AT_ONCE;
        noise_bytes(source, words, part * sizeof words[0]);
        for (size_t i = 0; i < part; i++) {
            uint64_t size = draw_size(table, source, words[i] >> 1);
            uint64_t sign = 0 - (words[i] & 1); /* all ones negates */
            values[i] = (int64_t)((uint64_t)values[i] + ((size ^ sign) - sign));
        }
        values += part;
        count -= part;
    }
    explicit_bzero(words, sizeof words);
}
