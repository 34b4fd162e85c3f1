/* Karney's exact sampler, rounded to integers.
 *
 * DESIGN. A normal is +-(k + x) with k an integer and x in (0, 1) known by its leading digits (base
 * 2^64). Every decision compares digits that are uniform and independent; where they are equal,
 * the next ones are drawn, up to DIGITS (equality of all has probability 2^-2048). Every coin is
 * von Neumann's: the parity of the length of a falling run of uniforms has probability exp(-x).
 * No floating point anywhere. */
#include "algos/privacy/noise/noise_lattice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"

#define DIGITS NOISE_LATTICE_DIGITS
#define K_MAX  63 /* larger ones are accepted with probability exp(-2016) */

/* Where uniform words come from. */
struct words {
    uint64_t (*next)(void *context);
    void *context;
};

static uint64_t lattice_word(const struct words *words)
{
    return words->next(words->context);
}

/* Uniform below n, exactly; n < 2^32 (Lemire 2019). */
static uint32_t lattice_below(const struct words *words, uint32_t n)
{
    for (;;) {
        uint64_t product = (lattice_word(words) >> 32) * n;
        if ((uint32_t)product >= (uint32_t)(-n) % n)
            return (uint32_t)(product >> 32);
    }
}

/* A uniform number in (0, 1), drawn no further than was asked for. */
struct lazy {
    uint64_t digit[DIGITS];
    unsigned known;
};

static uint64_t lazy_digit(const struct words *words, struct lazy *u, unsigned place)
{
    while (u->known <= place)
        u->digit[u->known++] = lattice_word(words);
    return u->digit[place];
}

static void lazy_set(struct lazy *to, const struct lazy *from)
{
    memcpy(to->digit, from->digit, from->known * sizeof from->digit[0]);
    to->known = from->known;
}

static bool lazy_less(const struct words *words, struct lazy *a, struct lazy *b)
{
    for (unsigned i = 0; i < DIGITS; i++) {
        uint64_t x = lazy_digit(words, a, i), y = lazy_digit(words, b, i);
        if (x != y)
            return x < y;
    }
    return false;
}

/* True with probability exp(-1/2). */
static bool half_exponential(const struct words *words)
{
    struct lazy last, next;
    last.known = 0;
    if (lazy_digit(words, &last, 0) >> 63)
        return true; /* a run of length 0 */
    for (bool even = false;; even = !even) {
        next.known = 0;
        if (!lazy_less(words, &next, &last))
            return even;
        lazy_set(&last, &next);
    }
}

/* True with probability exp(-x (2k+x) / (2k+2)): each member of the falling run also has to pass a
 * coin of (2k+x) / (2k+2). */
static bool step_coin(const struct words *words, uint32_t k, struct lazy *x)
{
    struct lazy last, next, part, *bound = x;
    for (bool even = true;; even = !even) {
        next.known = part.known = 0;
        if (!lazy_less(words, &next, bound))
            return even;
        uint32_t side = lattice_below(words, 2 * k + 2);
        if (side == 2 * k + 1 || (side == 2 * k && !lazy_less(words, &part, x)))
            return even;
        lazy_set(&last, &next);
        bound = &last;
    }
}

/* k with probability proportional to exp(-k^2/2), of the whole part. */
static uint32_t whole_part(const struct words *words)
{
    for (;;) {
        uint32_t k = 0;
        while (k <= K_MAX && half_exponential(words))
            k++;
        if (k > K_MAX)
            continue;
        uint32_t coins = k > 1 ? k * (k - 1) : 0;
        while (coins > 0 && half_exponential(words))
            coins--;
        if (coins == 0)
            return k;
    }
}

static uint32_t half_normal(const struct words *words, struct lazy *x)
{
    for (;;) {
        uint32_t k = whole_part(words), coins = k + 1;
        x->known = 0;
        while (coins > 0 && step_coin(words, k, x))
            coins--;
        if (coins == 0)
            return k;
    }
}

/* round(scale (k + x) / 2^20). With the digits drawn so far the product lies in [low, low + scale),
 * in units of 2^-84 at the first digit: usually both ends round alike, else the next digits tell
 * on which side of the border it is. */
static int64_t round_product(const struct words *words, uint64_t scale, uint32_t k, struct lazy *x)
{
    typedef unsigned __int128 wide;
    const unsigned point = 64 + NOISE_LATTICE_FRACTION;
    wide low = (((wide)k << 64) + lazy_digit(words, x, 0)) * scale + ((wide)1 << (point - 1));
    wide below = low >> point, above = (low + scale - 1) >> point;
    if (below == above)
        return (int64_t)below;
    wide border = (above << point) - low; /* in 1..scale-1: above when scale * (rest of x) >= it */
    for (unsigned i = 1; i < DIGITS; i++) {
        wide product = (wide)lazy_digit(words, x, i) * scale;
        border <<= 64;
        if (product >= border)
            return (int64_t)above;
        border -= product;
        if (border >= scale)
            return (int64_t)below;
    }
    return (int64_t)below;
}

int64_t noise_lattice_round(uint64_t scale, uint32_t k, const uint64_t digits[DIGITS])
{
    struct lazy x = {.known = DIGITS};
    assert(scale > 0 && scale <= NOISE_LATTICE_MAX && k <= K_MAX);
    memcpy(x.digit, digits, sizeof x.digit);
    return round_product(NULL, scale, k, &x);
}

int64_t noise_lattice_gaussian_by(uint64_t (*next)(void *context), void *context, uint64_t scale)
{
    assert(scale > 0 && scale <= NOISE_LATTICE_MAX);
    const struct words words = {next, context};
    struct lazy x;
    uint32_t k = half_normal(&words, &x);
    int64_t magnitude = round_product(&words, scale, k, &x);
    explicit_bzero(&x, sizeof x);
    return lattice_word(&words) >> 63 ? -magnitude : magnitude;
}

static uint64_t source_word(void *source)
{
    return noise_u64(source);
}

int64_t noise_lattice_gaussian(struct noise_source *source, uint64_t scale)
{
    return noise_lattice_gaussian_by(source_word, source, scale);
}
