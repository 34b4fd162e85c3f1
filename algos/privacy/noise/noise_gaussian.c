/* Normal variates by the array, in float, for DP-SGD: Box-Muller.
 *
 * DESIGN. The array form is written so that a compiler turns its loops into vector code: no calls,
 * no branches, one pass per idea; where the processor has AVX-512 they run twice as wide, with the
 * same bits, because each number is computed by itself. 32 bits make the radius (both ends get
 * more, see refine_ends), 26 make the angle: two for the quadrant and 24, all that a float can
 * hold, for the place in it. The elementary functions are polynomials; together their relative
 * error is below 5e-7. Float noise carries no proof about its last bits; see docs/proofs/noise.md.
 */
#include "algos/privacy/noise/noise_continuous.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"

#define PAIRS         1024 /* a block of pairs, its words and normals, stays in the L1 cache */
#define STDDEV_MOST   8e36f
#define END_WORDS     0x10000u    /* words of radii, at either end, that refine_ends draws anew */
#define ROOT_HALF     0xb504f334u /* 2^32 sqrt(1/2): from this word on the logarithm is of 1 - u */

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#ifdef __x86_64__ /* what every processor with AVX-512 but the first of 2016 has */
#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#endif

ALWAYS_INLINE float float_from_bits(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } both = {.u = bits};
    return both.f;
}

ALWAYS_INLINE uint32_t bits_from_float(float value)
{
    union {
        float f;
        uint32_t u;
    } both = {.f = value};
    return both.u;
}

/* One rounding instead of two; part of the definition here, so that every machine draws the same.
 */
ALWAYS_INLINE float fused(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* EXPONENT ln 2 + ln(1 + t) for t in [sqrt(1/2) - 1, sqrt(2) - 1]: the polynomial of Cephes
 * (Moshier, logf). It is t itself for the smallest t, so it is zero for none but 0. */
ALWAYS_INLINE float log_parts(float exponent, float t)
{
    float p = fused(7.0376836292e-2f, t, -1.1514610310e-1f);
    p = fused(p, t, 1.1676998740e-1f);
    p = fused(p, t, -1.2420140846e-1f);
    p = fused(p, t, 1.4249322787e-1f);
    p = fused(p, t, -1.6668057665e-1f);
    p = fused(p, t, 2.0000714765e-1f);
    p = fused(p, t, -2.4999993993e-1f);
    p = fused(p, t, 3.3333331174e-1f);
    p = fused(p, t, -0.5f);
    return fused(exponent, 0.69314718f, fused(t * t, p, t));
}

/* ln u for u = (WORD + 1/2) / 2^32, which a float near 1 does not hold: from sqrt(1/2) on it is
 * ln(1 - v) with v = (2^32 - 1 - WORD + 1/2) / 2^32, never zero. Below, u = 2^e m with m in
 * [sqrt(1/2), sqrt(2)) and ln u = e ln 2 + ln(1 + (m - 1)). Both by the same steps, with
 * masks for the choices. */
ALWAYS_INLINE float log_of_word(uint32_t word)
{
    uint32_t upper = 0u - (uint32_t)(word >= ROOT_HALF); /* all ones or none */
    uint32_t near = word ^ upper;
    /* Both halves convert exactly, so small words keep all of their 32 bits. */
    float whole = fused((float)(int32_t)(near >> 16), 65536.0f, (float)(int32_t)(near & 0xffffu));
    float u = (whole + 0.5f) * 0x1p-32f;
    uint32_t bits = bits_from_float(u) - 0x3f3504f3u; /* sqrt(1/2) */
    float exponent = (float)((int32_t)(bits & ~upper) >> 23);
    float t = float_from_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    uint32_t chosen = (bits_from_float(-u) & upper) | (bits_from_float(t) & ~upper);
    return log_parts(exponent, float_from_bits(chosen));
}

/* Radii of PAIRS points from as many uniform words: the sum of squares of two normals is
 * -2 ln u. */
ALWAYS_INLINE void radii(const uint32_t *restrict bits, float stddev, float *restrict radius)
{
    for (int i = 0; i < PAIRS; i++)
        radius[i] = stddev * __builtin_sqrtf(-2.0f * log_of_word(bits[i]));
}

/* X comes as radii; X and Y become points that far out, in the direction of uniform words. Apart
 * from radii(), because all constants of both do not fit into the registers. */
ALWAYS_INLINE void turn(const uint32_t *restrict bits, float *restrict x, float *restrict y)
{
    for (int i = 0; i < PAIRS; i++) {
        uint32_t angle = bits[i];
        float radius = x[i];
        float t = fused((float)(int32_t)((angle & 0x3fffffffu) >> 6), 0x1p-24f, -(0.5f - 0x1p-25f));
        float a = t * 1.57079633f; /* in (-pi/4, pi/4); quadrants are added below */
        float a2 = a * a;
        float odd = fused(fused(-1.9840874e-4f, a2, 8.3333310e-3f), a2, -0.16666667f);
        float sine = fused(a * a2, odd, a);
        float even = fused(fused(2.4433157e-5f, a2, -1.3888378e-3f), a2, 4.1666653e-2f);
        float cosine = fused(fused(even, a2, -0.5f), a2, 1.0f);
        uint32_t swap = 0u - (angle >> 30 & 1u); /* all ones or none */
        uint32_t s = bits_from_float(sine), c = bits_from_float(cosine);
        uint32_t first = (s & swap) | (c & ~swap);
        uint32_t second = (c & swap) | (s & ~swap);
        /* A quarter turn maps (c, s) to (-s, c); a half turn negates both. So the first coordinate
         * changes sign when exactly one of the two bits is set. */
        first ^= (swap ^ angle) & 0x80000000u;
        second ^= angle & 0x80000000u;
        x[i] = radius * float_from_bits(first);
        y[i] = radius * float_from_bits(second);
    }
}

/* 2 PAIRS normals from as many words: the first half makes radii, the second directions. */
static void normals_from(const uint32_t *words, float stddev, float *normals)
{
    radii(words, stddev, normals);
    turn(words + PAIRS, normals, normals + PAIRS);
}

#ifdef WIDE
WIDE static void normals_from_wide(const uint32_t *words, float stddev, float *normals)
{
    radii(words, stddev, normals);
    turn(words + PAIRS, normals, normals + PAIRS);
}
#else
#define normals_from_wide normals_from
#endif

/* The 32-bit radius words are too coarse at both ends: neighbouring words would give visibly
 * separate radii, none beyond 6.8 standard deviations and none below 1e-5. The 2^16 words at either
 * end (one pair in 2^15) get more random bits, as many as it takes: they place the point between
 * two words, and between an end and its word there is every radius that the law has. */
static double refined_radius(struct noise_source *source, uint32_t word)
{
    bool upper = word > UINT32_MAX / 2;
    double near = ((double)(upper ? ~word : word) + noise_uniform_fine(source)) * 0x1p-32;
    return sqrt(-2.0 * (upper ? log1p(-near) : log(near)));
}

static void refine_ends(struct noise_source *source, const uint32_t *radius_bits, float stddev,
                        float *x, float *y)
{
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < PAIRS; i++) {              /* in vectors: most blocks have none */
        uint32_t end = radius_bits[i] + END_WORDS; /* the upper words become the least */
        least = end < least ? end : least;
    }
    for (int i = 0; i < PAIRS && least < 2 * END_WORDS; i++) {
        if (radius_bits[i] + END_WORDS >= 2 * END_WORDS)
            continue;
        double radius = (double)stddev * refined_radius(source, radius_bits[i]);
        double length = hypot((double)x[i], (double)y[i]);
        if (length > 0.0) {
            x[i] = (float)((double)x[i] * (radius / length));
            y[i] = (float)((double)y[i] * (radius / length));
        }
    }
}

static bool has_avx512(void)
{
#ifdef WIDE
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static void floats_add(float *restrict v, const float *restrict noise, size_t count)
{
    for (size_t i = 0; i < count; i++)
        v[i] += noise[i];
}

void noise_gaussian_add(struct noise_source *source, float *v, size_t count, float stddev)
{
    assert(stddev >= 0.0f && stddev <= STDDEV_MOST);
    uint32_t words[2 * PAIRS];
    float normals[2 * PAIRS];
    bool wide = has_avx512();
    while (count) {
        noise_bytes(source, words, sizeof words);
        if (wide)
            normals_from_wide(words, stddev, normals);
        else
            normals_from(words, stddev, normals);
        refine_ends(source, words, stddev, normals, normals + PAIRS);
        size_t part = count < 2 * PAIRS ? count : 2 * PAIRS;
        floats_add(v, normals, part);
        v += part;
        count -= part;
    }
    explicit_bzero(words, sizeof words);
    explicit_bzero(normals, sizeof normals);
}
