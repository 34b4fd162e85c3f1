/* Exact discrete laws from uniform integers: coins first, then what is made of them. */
#include "algos/privacy/noise/noise_discrete.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/noise/noise_source.h"

typedef unsigned __int128 wide;

bool noise_bernoulli(struct noise_source *source, uint64_t probability)
{
    return noise_u64(source) < probability;
}

uint64_t noise_probability(double p)
{
    assert(p >= 0.0 && p <= 1.0);
    return p < 1.0 ? (uint64_t)ldexp(p, 64) : UINT64_MAX;
}

bool noise_bernoulli_ratio(struct noise_source *source, uint64_t a, uint64_t b)
{
    assert(b > 0 && a <= b);
    return noise_below_u64(source, b) < a;
}

/* Bernoulli(a / b) for numbers that 64 bits do not hold, a <= b < 2^127: the binary digits of a / b
 * against random ones, until the first that differ; two on average. */
static bool bernoulli_wide(struct noise_source *source, wide a, wide b)
{
    assert(a <= b && b > 0 && b >> 127 == 0);
    if (a == b)
        return true;
    for (;;) {
        uint64_t word = noise_u64(source);
        for (int i = 0; i < 64; i++, word >>= 1) {
            a <<= 1;
            bool digit = a >= b;
            a -= digit ? b : 0;
            if (digit != (word & 1))
                return digit;
        }
    }
}

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

/* x = a / b <= 1, b < 2^127. */
static bool bernoulli_exp_wide(struct noise_source *source, wide a, wide b)
{
    uint64_t k = 1;
    while (bernoulli_wide(source, a, b) && one_in(source, k))
        k++;
    return k & 1;
}

/* x = (a / b)^2 / 2, a / b <= 1, b < 2^127. */
static bool bernoulli_exp_half_square_part(struct noise_source *source, wide a, wide b)
{
    uint64_t k = 1;
    while ((noise_u64(source) & 1) && bernoulli_wide(source, a, b) &&
           bernoulli_wide(source, a, b) && one_in(source, k))
        k++;
    return k & 1;
}

bool noise_bernoulli_exp(struct noise_source *source, uint64_t a, uint64_t b)
{
    assert(b > 0);
    for (; a > b; a -= b) /* ends early: each turn goes on with probability 1/e */
        if (!bernoulli_exp_one(source))
            return false;
    return bernoulli_exp_part(source, a, b);
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
static wide geometric(struct noise_source *source, uint64_t t)
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
static int64_t laplace(struct noise_source *source, uint64_t t, uint64_t s)
{
    for (;;) {
        wide x = geometric(source, t);
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
    return laplace(source, numerator, denominator);
}

/* Bernoulli(exp(-(a / b)^2 / 2)), b < 2^127: with a / b = i + f the exponent is i^2/2 + i f +
 * f^2/2, and a product of independent coins has the product of their probabilities. */
static bool bernoulli_exp_half_square(struct noise_source *source, wide a, wide b)
{
    wide whole = a / b, part = a % b;
    /* exp(-whole^2 / 2): coins of exp(-1/2); the loops end early. */
    for (wide i = 0; i < whole; i++)
        for (wide j = 0; j < whole; j++)
            if (!bernoulli_exp_part(source, 1, 2))
                return false;
    for (wide i = 0; i < whole; i++)
        if (!bernoulli_exp_wide(source, part, b))
            return false;
    return bernoulli_exp_half_square_part(source, part, b);
}

int64_t noise_discrete_gaussian(struct noise_source *source, uint64_t numerator,
                                uint64_t denominator)
{
    uint64_t n = numerator, d = denominator;
    assert(n > 0 && n <= NOISE_DISCRETE_MAX && d > 0 && d <= NOISE_DISCRETE_MAX);
    uint64_t t = n / d + 1;
    for (;;) {
        int64_t y = laplace(source, t, 1);
        /* Keep y with probability exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)); the quotient is
         * a / b = (|y| d^2 t - n^2) / (n d t). d t <= n + d <= 2^57: |y| would have to exceed
         * 2^12 t for |y| (d t) d to leave 127 bits, which e^-4096 does not happen. */
        wide size = (wide)(y < 0 ? -y : y);
        if (size >> 12 > t)
            continue;
        wide left = size * d * ((wide)d * t), right = (wide)n * n;
        wide a = left > right ? left - right : right - left;
        if (bernoulli_exp_half_square(source, a, (wide)n * ((wide)d * t)))
            return y;
    }
}
