/* Exact discrete laws from uniform integers: coins first, then the samplers that use them. */
#include "algos/privacy/noise/noise_discrete.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"

#define SAMPLE_WORDS 512 /* random words fetched at once */

typedef unsigned __int128 wide;

/* The coins below are Bernoulli(exp(-x)), x in [0, 1], made of independent coins of x: the first k
 * at which a coin of x or one of 1 / k fails is odd with probability
 * 1 - x + x^2/2! - x^3/3! + ... = exp(-x). */
static bool one_in(struct noise_source *source, uint64_t k)
{
    return k == 1 || noise_below_u64(source, k) == 0;
}

/* x = a / b <= 1. */
static bool bernoulli_exp_part(struct noise_source *source, uint64_t a, uint64_t b)
{
    uint64_t k = 1;
    while (noise_below_u64(source, b) < a && one_in(source, k))
        k++;
    return k & 1;
}

/* x = 1. */
static bool bernoulli_exp_one(struct noise_source *source)
{
    uint64_t k = 1;
    while (one_in(source, k))
        k++;
    return k & 1;
}

bool noise_exp_coin(struct noise_source *source, double x)
{
    assert(x >= 0.0 && isfinite(x));
    double whole = floor(x);
    for (; whole > 0.0; whole -= 1.0)
        if (!bernoulli_exp_one(source))
            return false;
    return bernoulli_exp_part(source, (uint64_t)ldexp(x - floor(x), 62), UINT64_C(1) << 62);
}

uint32_t noise_categorical(struct noise_source *source, const uint64_t *weights, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool over = __builtin_add_overflow(sum, weights[i], &sum);
        assert(!over);
        (void)over;
    }
    uint64_t place = noise_below_u64(source, sum); /* refuses a sum of 0 */
    uint32_t drawn = 0;
    sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += weights[i];
        drawn += sum <= place;
    }
    return drawn;
}

/* |X| of the exponential law on the integers of scale T: U + T V, where U is uniform below T and
 * kept with probability exp(-U / T), and V is geometric with ratio 1/e. */
static wide exponential_size(struct noise_source *source, uint64_t t)
{
    uint64_t u;
    do {
        u = noise_below_u64(source, t);
    } while (!bernoulli_exp_part(source, u, t));
    uint64_t v = 0;
    while (bernoulli_exp_one(source))
        v++;
    return u + (wide)t * v;
}

/* The discrete Laplace law of scale T / S. */
static int64_t discrete_laplace(struct noise_source *source, uint64_t t, uint64_t s)
{
    for (;;) {
        wide x = exponential_size(source, t);
        x = s == 1 ? x : x / s; /* a slow division */
        bool negative = noise_u64(source) & 1;
        if (negative && x == 0)
            continue; /* or zero would count twice */
        int64_t size = x > INT64_MAX ? INT64_MAX : (int64_t)x;
        return negative ? -size : size;
    }
}

int64_t noise_discrete_laplace(struct noise_source *source, uint64_t numerator,
                               uint64_t denominator)
{
    assert(numerator > 0 && numerator <= NOISE_DISCRETE_MAX);
    assert(denominator > 0 && denominator <= NOISE_DISCRETE_MAX);
    return discrete_laplace(source, numerator, denominator);
}

/* ---- Poisson sampling */

/* A coin falls for I when a 64-bit uniform integer is below floor(rate 2^64). Its lower half is
 * drawn only when the upper one does not decide. */
uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen)
{
    assert(rate >= 0.0 && rate <= 1.0 && (chosen || !n));
    uint32_t words[SAMPLE_WORDS], count = 0;
    for (uint32_t i = 0; rate == 1.0 && i < n; i++)
        chosen[i] = i;
    if (rate == 1.0)
        return n;
    uint64_t threshold = (uint64_t)ldexp(rate, 64);
    uint32_t high = (uint32_t)(threshold >> 32), low = (uint32_t)threshold;
    for (uint32_t start = 0; start < n;) {
        uint32_t part = n - start < SAMPLE_WORDS ? n - start : SAMPLE_WORDS;
        noise_bytes(source, words, part * sizeof words[0]);
        for (uint32_t i = 0; i < part; i++) {
            bool joins = words[i] < high;
            if (words[i] == high)
                joins = (uint32_t)noise_u64(source) < low;
            if (joins)
                chosen[count++] = start + i;
        }
        start += part;
    }
    explicit_bzero(words, sizeof words);
    return count;
}
