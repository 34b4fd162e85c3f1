/* Box-Muller pairs whose rounding is certain.
 *
 * DESIGN. pair_of() is the one formula for 32 and for 96 bits. Its loops are written so that a
 * compiler turns them into vectors: no calls, no branches. The elementary functions are their own
 * series, so that the bounds are those of textbooks:
 *   ln m = 2 (f + f^3/3 + ...), f = (m - 1) / (m + 1), |f| <= 0.172: after f^17 less than 2^-49
 *   relative is left out;
 *   sin and cos on [-pi/4, pi/4] to a^17 and a^16: less than 2^-56 is left out.
 * With the roundings of some forty operations of 2^-53 each, ARITHMETIC bounds the relative error
 * of a radius and of a direction many times over.
 *
 * What is unknown of U moves R by |dR| <= 2 (du / U) / R, because R'^2 - R^2 = 2 ln (U / U') and
 * R' + R >= R; that needs du much smaller than U, so small words of U are always refined. What is
 * unknown of V moves the point by R dtheta. */
#include "algos/privacy/noise/noise_rounded_gaussian.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"

#define PAIRS         1024 /* a block: its words and doubles stay in the first cache */
#define GROUP         16   /* pairs that are looked at together for doubts */
#define ARITHMETIC    0x1p-46
#define SMALL_WORD    4096.0 /* below it a word of U decides nothing */
#define PI_HALF       1.5707963267948966

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#ifdef __x86_64__
#define WIDE_PAIRS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#endif

ALWAYS_INLINE uint64_t bits_of_double(double value)
{
    union {
        double d;
        uint64_t u;
    } both = {.d = value};
    return both.u;
}

ALWAYS_INLINE double double_of_bits(uint64_t bits)
{
    union {
        uint64_t u;
        double d;
    } both = {.u = bits};
    return both.d;
}

ALWAYS_INLINE double fused(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

/* ln u for a normal double in (0, 1). */
ALWAYS_INLINE double log_below_one(double u)
{
    const uint64_t one = 0x3ff0000000000000, half_root = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    uint64_t shifted = bits_of_double(u) + (one - half_root);
    double exponent = double_of_bits(shifted >> 52 | 0x4330000000000000) - (0x1p52 + 1023.0);
    double m = double_of_bits(bits_of_double(u) - ((shifted & 0xfff0000000000000) - one));
    double f = (m - 1.0) / (m + 1.0), s = f * f;
    double p = 1.0 / 17;
    p = fused(p, s, 1.0 / 15);
    p = fused(p, s, 1.0 / 13);
    p = fused(p, s, 1.0 / 11);
    p = fused(p, s, 1.0 / 9);
    p = fused(p, s, 1.0 / 7);
    p = fused(p, s, 1.0 / 5);
    p = fused(p, s, 1.0 / 3);
    return fused(exponent, 0.6931471805599453, 2.0 * fused(f, s * p, f));
}

ALWAYS_INLINE double sine_of(double a, double a2)
{
    double p = 1.0 / 355687428096000; /* 17! */
    p = fused(p, a2, -1.0 / 1307674368000);
    p = fused(p, a2, 1.0 / 6227020800);
    p = fused(p, a2, -1.0 / 39916800);
    p = fused(p, a2, 1.0 / 362880);
    p = fused(p, a2, -1.0 / 5040);
    p = fused(p, a2, 1.0 / 120);
    p = fused(p, a2, -1.0 / 6);
    return fused(a, a2 * p, a);
}

ALWAYS_INLINE double cosine_of(double a2)
{
    double p = 1.0 / 20922789888000; /* 16! */
    p = fused(p, a2, -1.0 / 87178291200);
    p = fused(p, a2, 1.0 / 479001600);
    p = fused(p, a2, -1.0 / 3628800);
    p = fused(p, a2, 1.0 / 40320);
    p = fused(p, a2, -1.0 / 720);
    p = fused(p, a2, 1.0 / 24);
    p = fused(p, a2, -0.5);
    return fused(a2, p, 1.0);
}

/* U is in (0, 1), known to the relative DU; the direction is TURN, in (-0.5, 0.5), of a quarter
 * turn, known to DTURN, after as many quarter turns as the upper two bits of V say. */
ALWAYS_INLINE struct rounded_gaussian_pair pair_of(double u, double du, double turn, double dturn,
                                                   uint64_t v, double stddev)
{
    double radius = __builtin_sqrt(-2.0 * log_below_one(u));
    double a = turn * PI_HALF, a2 = a * a;
    double sine = sine_of(a, a2), cosine = cosine_of(a2);
    uint64_t swap = 0 - (v >> 30 & 1); /* all ones or none */
    uint64_t s = bits_of_double(sine), c = bits_of_double(cosine);
    uint64_t first = (s & swap) | (c & ~swap), second = (c & swap) | (s & ~swap);
    /* A quarter turn maps (c, s) to (-s, c); a half turn negates both. */
    first ^= (swap ^ v << 32) & 0x8000000000000000;
    second ^= v << 32 & 0x8000000000000000;
    double length = stddev * radius;
    return (struct rounded_gaussian_pair){
        .x = length * double_of_bits(first),
        .y = length * double_of_bits(second),
        .slack = stddev * (2.001 * du / radius) + length * (PI_HALF * dturn + ARITHMETIC),
    };
}

/* A word as a double, exactly; both halves convert as signed 32-bit numbers do. */
ALWAYS_INLINE double double_of_word(uint32_t word)
{
    return (double)(int32_t)(word >> 16) * 65536.0 + (double)(int32_t)(word & 0xffff);
}

ALWAYS_INLINE struct rounded_gaussian_pair rough_pair(uint32_t u, uint32_t v, double stddev)
{
    double word = double_of_word(u);
    double middle = (word + 0.5) * 0x1p-32;
    double turn = (double)(int32_t)(v & 0x3fffffff) * 0x1p-30 - (0.5 - 0x1p-31);
    struct rounded_gaussian_pair pair = pair_of(middle, 0x1p-33 / middle, turn, 0x1p-31, v, stddev);
    /* A word that is too small gets infinite slack; a condition would not become a vector. */
    uint64_t small = 0 - (bits_of_double(word - SMALL_WORD) >> 63);
    uint64_t infinite = bits_of_double((double)INFINITY);
    pair.slack = double_of_bits((bits_of_double(pair.slack) & ~small) | (infinite & small));
    return pair;
}

struct rounded_gaussian_pair rounded_gaussian_rough(uint32_t u, uint32_t v, double stddev)
{
    return rough_pair(u, v, stddev);
}

struct rounded_gaussian_pair rounded_gaussian_middle(uint32_t u, uint32_t v, const uint64_t more[2],
                                                     double stddev)
{
    /* The rounding of U to double is relative to U, and near 1 relative to 1. */
    double low_u = ((double)more[0] + 0.5) * 0x1p-64, low_v = ((double)more[1] + 0.5) * 0x1p-64;
    double middle = ((double)u + low_u) * 0x1p-32;
    if (middle >= 1.0) /* rounded up */
        middle = 1.0 - 0x1p-53;
    double turn = ((double)(v & 0x3fffffff) + low_v) * 0x1p-30 - 0.5;
    double du = 0x1p-96 / middle + 0x1p-52;
    struct rounded_gaussian_pair pair = pair_of(middle, du, turn, 0x1p-52, v, stddev);
    if (u == 0 && more[0] < 1 << 20)
        pair.slack = (double)INFINITY;
    return pair;
}

/* ---- 113-bit arithmetic; needed once in many steps of a training */

typedef __float128 quad;

/* sum of f^(2k+1) / (2k+1), with alternating signs for SIGN -1: artanh f, or arctan f; |f| <= 1/3.
 */
static quad odd_series(quad f, int sign)
{
    quad sum = 0, power = f;
    for (int k = 1; k < 90; k += 2) {
        sum += power / k;
        power *= sign * f * f;
    }
    return sum;
}

static quad quad_log(quad u)
{
    int exponent;
    (void)frexp((double)u, &exponent);
    quad m = u * (quad)ldexp(1.0, -exponent); /* in [0.5, 1] */
    if (m < (quad)0.70710678) {
        m *= 2;
        exponent--;
    }
    return 2 * odd_series((m - 1) / (m + 1), 1) + exponent * 2 * odd_series((quad)1 / 3, 1);
}

static quad quad_root(quad x)
{
    quad root = sqrt((double)x);
    for (int i = 0; root > 0 && i < 3; i++)
        root = (root + x / root) / 2;
    return root;
}

/* Sine for ODD 1, cosine for 0, |a| <= 0.8. */
static quad quad_turn(quad a, int odd)
{
    quad term = odd ? a : 1, sum = 0;
    for (int k = odd; k < 36; k += 2) {
        sum += term;
        term *= -a * a / ((k + 1) * (k + 2));
    }
    return sum;
}

/* WORD, the bits HIGH behind it, and a REST in (0, 1) behind those, times SCALE. */
static quad quad_fraction(uint32_t word, uint64_t high, quad rest, double scale)
{
    return ((quad)word + ((quad)high + rest) * (quad)0x1p-64) * (quad)scale;
}

/* LOW and HALF a step as a fraction. */
static quad quad_rest(uint64_t low, quad half)
{
    return ((quad)low + half) * (quad)0x1p-64;
}

/* ln U for U's 224 bits. Above a half they are those of 1 - U turned round, which lose nothing near
 * 1. */
static quad quad_log_of_bits(uint32_t u, const uint64_t more[5])
{
    const uint64_t turn = u >> 31 ? UINT64_MAX : 0;
    quad rest = quad_rest(more[2] ^ turn, quad_rest(more[4] ^ turn, (quad)0.5));
    quad fraction = quad_fraction(u ^ (uint32_t)turn, more[0] ^ turn, rest, 0x1p-32);
    return turn ? -2 * odd_series(fraction / (2 - fraction), 1) : quad_log(fraction);
}

static int64_t quad_rounded(quad x, double *rest)
{
    int64_t whole = (int64_t)(x < 0 ? x - (quad)0.5 : x + (quad)0.5);
    *rest = (double)(x - whole);
    return whole;
}

void rounded_gaussian_fine(uint32_t u, uint32_t v, const uint64_t more[5], double stddev,
                           int64_t out[2], double rest[2])
{
    quad pi_half = 8 * odd_series((quad)1 / 5, -1) - 2 * odd_series((quad)1 / 239, -1);
    quad half = (quad)0.5, radius = stddev * quad_root(-2 * quad_log_of_bits(u, more));
    quad turn = quad_fraction(v & 0x3fffffff, more[1], quad_rest(more[3], half), 0x1p-30) - half;
    quad sine = quad_turn(turn * pi_half, 1), cosine = quad_turn(turn * pi_half, 0);
    quad x = v >> 30 & 1 ? -sine : cosine, y = v >> 30 & 1 ? cosine : sine;
    quad sign = v >> 31 ? -1 : 1;
    out[0] = quad_rounded(sign * radius * x, &rest[0]);
    out[1] = quad_rounded(sign * radius * y, &rest[1]);
}

/* ---- drawing */

#define ROUNDER 0x1.8p52 /* added to a double it leaves the nearest integer in the lower bits */

/* The integer nearest to VALUE, below 2^51. */
ALWAYS_INLINE int64_t nearest_integer(double value)
{
    return (int64_t)(bits_of_double(value + ROUNDER) - bits_of_double(ROUNDER));
}

/* How much farther VALUE is from the next border of rounding than SLACK; negative: in doubt. */
ALWAYS_INLINE double margin_of(double value, double slack)
{
    double away = value - ((value + ROUNDER) - ROUNDER);
    return (0.5 - __builtin_fabs(away)) - (slack + 0x1p-50);
}

/* Adds the draws of the first LANES pairs, a multiple of GROUP, of WORDS to X and Y; MARGIN[2
 * PAIRS] tells which are in doubt. */
ALWAYS_INLINE void add_pairs(const uint32_t *restrict words, int lanes, double stddev,
                             int64_t *restrict x, int64_t *restrict y, double *restrict margin)
{
    for (int i = 0; i < lanes; i++) {
        struct rounded_gaussian_pair pair = rough_pair(words[i], words[PAIRS + i], stddev);
        x[i] += nearest_integer(pair.x);
        y[i] += nearest_integer(pair.y);
        margin[i] = margin_of(pair.x, pair.slack);
        margin[PAIRS + i] = margin_of(pair.y, pair.slack);
    }
}

static void add_pairs_plain(const uint32_t *words, int lanes, double stddev, int64_t *x, int64_t *y,
                            double *margin)
{
    if (lanes == PAIRS)
        add_pairs(words, PAIRS, stddev, x, y, margin);
    else
        add_pairs(words, lanes, stddev, x, y, margin);
}

#ifdef WIDE_PAIRS
WIDE_PAIRS static void add_pairs_wide(const uint32_t *words, int lanes, double stddev, int64_t *x,
                                      int64_t *y, double *margin)
{
    if (lanes == PAIRS)
        add_pairs(words, PAIRS, stddev, x, y, margin);
    else
        add_pairs(words, lanes, stddev, x, y, margin);
}

static bool has_wide_pairs(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
#define add_pairs_wide add_pairs_plain
static bool has_wide_pairs(void)
{
    return false;
}
#endif

/* Draws more bits of the pair (U, V) and puts the draws that they decide in the place of the rough
 * ones. */
static void refine_pair(struct noise_source *source, uint32_t u, uint32_t v, double stddev,
                        int64_t *x, int64_t *y)
{
    struct rounded_gaussian_pair rough = rough_pair(u, v, stddev);
    uint64_t more[5];
    int64_t exact[2];
    double rest[2];
    noise_bytes(source, more, 2 * sizeof more[0]);
    struct rounded_gaussian_pair pair = rounded_gaussian_middle(u, v, more, stddev);
    exact[0] = nearest_integer(pair.x);
    exact[1] = nearest_integer(pair.y);
    if (margin_of(pair.x, pair.slack) < 0.0 || margin_of(pair.y, pair.slack) < 0.0) {
        noise_bytes(source, more + 2, 3 * sizeof more[0]);
        rounded_gaussian_fine(u, v, more, stddev, exact, rest);
    }
    *x += exact[0] - nearest_integer(rough.x);
    *y += exact[1] - nearest_integer(rough.y);
    explicit_bzero(more, sizeof more);
}

static void refine_block(struct noise_source *source, const uint32_t *words, int pairs,
                         const double *margin, double stddev, int64_t *x, int64_t *y)
{
    for (int first = 0; first < pairs; first += GROUP) {
        uint64_t signs = 0;
        for (int i = first; i < first + GROUP; i++)
            signs |= bits_of_double(margin[i]) | bits_of_double(margin[PAIRS + i]);
        for (int i = first; signs >> 63 && i < first + GROUP && i < pairs; i++)
            if (margin[i] < 0.0 || margin[PAIRS + i] < 0.0)
                refine_pair(source, words[i], words[PAIRS + i], stddev, &x[i], &y[i]);
    }
}

/* Room for one block; the first PAIRS of words and margins are of U and X, the others of V and Y.
 */
struct block {
    uint32_t words[2 * PAIRS];
    double margin[2 * PAIRS];
    int64_t last[2 * PAIRS];
};

static void add_block(struct noise_source *source, struct block *block, int pairs, double stddev,
                      int64_t *x, int64_t *y)
{
    int lanes = (pairs + GROUP - 1) / GROUP * GROUP;
    if (has_wide_pairs())
        add_pairs_wide(block->words, lanes, stddev, x, y, block->margin);
    else
        add_pairs_plain(block->words, lanes, stddev, x, y, block->margin);
    refine_block(source, block->words, pairs, block->margin, stddev, x, y);
}

/* Fewer than 2 PAIRS values: no pair is drawn for more than one that is not asked for. */
static void add_last(struct noise_source *source, struct block *block, double stddev,
                     int64_t *values, size_t count)
{
    size_t pairs = (count + 1) / 2, lanes = (pairs + GROUP - 1) / GROUP * GROUP;
    for (size_t half = 0; half < 2 * PAIRS; half += PAIRS) {
        memset(block->words + half, 0, lanes * sizeof block->words[0]);
        memset(block->last + half, 0, lanes * sizeof block->last[0]);
        noise_bytes(source, block->words + half, pairs * sizeof block->words[0]);
    }
    memcpy(block->last, values, pairs * sizeof *values);
    memcpy(block->last + PAIRS, values + pairs, (count - pairs) * sizeof *values);
    add_block(source, block, (int)pairs, stddev, block->last, block->last + PAIRS);
    memcpy(values, block->last, pairs * sizeof *values);
    memcpy(values + pairs, block->last + PAIRS, (count - pairs) * sizeof *values);
    for (size_t half = 0; half < 2 * PAIRS; half += PAIRS) {
        explicit_bzero(block->words + half, lanes * sizeof block->words[0]);
        explicit_bzero(block->margin + half, lanes * sizeof block->margin[0]);
        explicit_bzero(block->last + half, lanes * sizeof block->last[0]);
    }
}

void rounded_gaussian_add(struct noise_source *source, double stddev, int64_t *values, size_t count)
{
    assert(stddev >= ROUNDED_GAUSSIAN_LEAST && stddev <= ROUNDED_GAUSSIAN_MOST);
    struct block block;
    bool filled = count >= 2 * PAIRS;
    for (; count >= 2 * PAIRS; count -= 2 * PAIRS, values += 2 * PAIRS) {
        noise_bytes(source, block.words, sizeof block.words);
        add_block(source, &block, PAIRS, stddev, values, values + PAIRS);
    }
    if (count > 0)
        add_last(source, &block, stddev, values, count);
    if (filled)
        explicit_bzero(&block, sizeof block);
}
