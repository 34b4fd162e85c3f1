/* Four doubles that move together, and their sine and cosine: for worlds that step ENV_LANES
 * instances at once. Vector extensions of gcc and clang, so that every machine computes the same
 * bits: one AVX2 instruction an operation where there is AVX2, two of SSE2 elsewhere. Nothing here
 * is fused, and an element depends on its own lane alone. Within envs, and for the forward in
 * double of algos/nn. */
#ifndef TACET_ENVS_LANES_H
#define TACET_ENVS_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double lanes __attribute__((vector_size(32)));
typedef int64_t lanes_mask __attribute__((vector_size(32))); /* a lane is 0 or -1: comparisons */

/* The functions are inlined, so that no vector crosses a call. */
#define LANES_INLINE static inline __attribute__((always_inline))

LANES_INLINE lanes lanes_load(const double *p)
{
    lanes v;
    memcpy(&v, p, sizeof v);
    return v;
}

LANES_INLINE void lanes_store(double *p, lanes v)
{
    memcpy(p, &v, sizeof v);
}

LANES_INLINE lanes lanes_all(double x)
{
    return (lanes){x, x, x, x};
}

LANES_INLINE lanes lanes_select(lanes_mask mask, lanes yes, lanes no)
{
    return (lanes)(((lanes_mask)yes & mask) | ((lanes_mask)no & ~mask));
}

LANES_INLINE int lanes_any(lanes_mask mask)
{
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}

LANES_INLINE lanes lanes_abs(lanes x)
{
    const lanes_mask sign = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    return (lanes)((lanes_mask)x & ~sign);
}

LANES_INLINE lanes_mask lanes_actions(const uint32_t *actions)
{
    typedef uint32_t four __attribute__((vector_size(16)));
    four a;
    memcpy(&a, actions, sizeof a);
    return __builtin_convertvector(a, lanes_mask);
}

/* 1 where MASK is set, else 0. */
LANES_INLINE void lanes_store_flags(uint8_t *flags, lanes_mask mask)
{
    for (int l = 0; l < 4; l++)
        flags[l] = (uint8_t)(mask[l] & 1);
}

/* Writes four numbers of each lane as floats into four rows that are DIM floats apart. */
LANES_INLINE void lanes_store_rows(float *rows, size_t dim, lanes a, lanes b, lanes c, lanes d)
{
    typedef float four __attribute__((vector_size(16)));
    four column[4] = {__builtin_convertvector(a, four), __builtin_convertvector(b, four),
                      __builtin_convertvector(c, four), __builtin_convertvector(d, four)};
    for (size_t l = 0; l < 4; l++) {
        four row = {column[0][l], column[1][l], column[2][l], column[3][l]};
        memcpy(rows + l * dim, &row, sizeof row);
    }
}

/* Sine and cosine of |X| <= pi/4: within 0.503 units in the last place up to 0.25, so that they are
 * as often the right double as glibc's and hardly ever another one than those; within 0.54 beyond.
 *
 * With x = h + l, where h has 12 bits, h^2 and h^3/6 (its factor of 17 bits first) are exact, and
 * so is what rounding loses when they are added to 1 or x: all that remains is so small that its
 * own rounding does not show. The series are Taylor's. */
LANES_INLINE void lanes_small_sin_cos(lanes x, lanes *sine, lanes *cosine)
{
    const lanes_mask twelve_bits = {-(INT64_C(1) << 41), -(INT64_C(1) << 41), -(INT64_C(1) << 41),
                                    -(INT64_C(1) << 41)};
    const double sixth = 0x1.5555p-3, sixth_rest = 1.0 / 6.0 - sixth;
    lanes h = (lanes)((lanes_mask)x & twelve_bits), l = x - h;
    lanes z = x * x, hh = h * h, hhh = hh * h;

    lanes s = 1.0 / 6227020800.0 - z * (1.0 / 1307674368000.0 - z * (1.0 / 355687428096000.0));
    s = 1.0 / 362880.0 - z * (1.0 / 39916800.0 - z * s);
    s = z * (1.0 / 120.0 - z * (1.0 / 5040.0 - z * s)); /* sin x = x - x^3/6 + x^3 s */
    lanes cube = hhh * sixth;                           /* exact */
    lanes rest = (x * z) * s - hhh * sixth_rest - l * (z + x * h + hh) * (1.0 / 6.0);
    lanes sum = x - cube;
    *sine = sum + (((x - sum) - cube) + rest);

    lanes c = 1.0 / 87178291200.0 - z * (1.0 / 20922789888000.0 - z * (1.0 / 6402373705728000.0));
    c = 1.0 / 3628800.0 - z * (1.0 / 479001600.0 - z * c);
    c = 1.0 / 24.0 - z * (1.0 / 720.0 - z * (1.0 / 40320.0 - z * c)); /* 1 - x^2/2 + x^4 c */
    lanes half = hh * 0.5;                                            /* exact */
    lanes sum_c = 1.0 - half;
    *cosine = sum_c + (((1.0 - sum_c) - half) + ((z * z) * c - l * (x + h) * 0.5));
}

/* Sine and cosine of any X; for |X| <= pi/4 the same bits as lanes_small_sin_cos. Up to 10^5 the
 * multiples of pi/2 are taken off in three parts of 33 bits, so that the first two products are
 * exact (Cody and Waite): within 1.5e-16. An angle further out, or not finite, is the C library's.
 */
LANES_INLINE void lanes_sin_cos(lanes x, lanes *sine, lanes *cosine)
{
    const double round = 0x1.8p52, part1 = 0x1.921fb544p+0, part2 = 0x1.0b4611a6p-34,
                 part3 = 0x1.3198a2e037073p-69;
    lanes turned = x * M_2_PI + round; /* its last bits count the quarter turns */
    lanes quarters = turned - round;
    lanes rest = ((x - quarters * part1) - quarters * part2) - quarters * part3;
    lanes s, c;
    lanes_small_sin_cos(rest, &s, &c);
    lanes_mask odd = -((lanes_mask)turned & 1);
    lanes_mask flip_sine = ((lanes_mask)turned & 2) << 62;
    lanes_mask flip_cosine = (((lanes_mask)turned + 1) & 2) << 62;
    *sine = (lanes)((lanes_mask)lanes_select(odd, c, s) ^ flip_sine);
    *cosine = (lanes)((lanes_mask)lanes_select(odd, s, c) ^ flip_cosine);

    lanes_mask far = ~(lanes_abs(x) <= 1e5);
    if (__builtin_expect(lanes_any(far), 0)) {
        for (int l = 0; l < 4; l++) {
            if (!far[l])
                continue;
            (*sine)[l] = sin(x[l]);
            (*cosine)[l] = cos(x[l]);
        }
    }
}

#endif
