/* round(stddev Z), Z standard normal, as integers: the noise of exact arithmetic.
 *
 * Whoever adds it to an integer s gets round(s + stddev Z), because s is whole: post-processing of
 * the continuous Gaussian mechanism, so every theorem and every accountant of the latter holds for
 * what is computed, subsampling and composition included. (For the discrete Gaussian under Poisson
 * sampling no such proof is known to us.)
 *
 * How. Z1 = R cos(2 pi V), Z2 = R sin(2 pi V), R = sqrt(-2 ln U) (Box and Muller 1958) for uniform
 * real U and V, of which as many bits are drawn as decide the rounding (interval refinement, as in
 * Haney et al. 2022, "Precision-based attacks and interval refining"): 32 bits each in vectors of
 * double, with a bound on all that is unknown or rounded; where a border of rounding lies within
 * the bound, 96 bits each in double; and where that does not decide, 224 and 160 bits in 113-bit
 * arithmetic, whose result is within stddev 2^-96 of the truth up to 12 deviations. Where that does
 * not decide either, the nearer integer is taken: the probability of each pair of integers up to 12
 * deviations is right to the relative stddev ROUNDED_GAUSSIAN_ERROR. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_ROUNDED_GAUSSIAN_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_ROUNDED_GAUSSIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct noise_source;

/* The least and the greatest standard deviation, in steps of the lattice. */
#define ROUNDED_GAUSSIAN_LEAST 1.0
#define ROUNDED_GAUSSIAN_MOST  0x1p36

/* Times the standard deviation: relative error of the probability of each integer up to 12
 * deviations. */
#define ROUNDED_GAUSSIAN_ERROR 0x1p-92

/* Probability of what lies beyond 12 deviations. */
#define ROUNDED_GAUSSIAN_RARE 4e-33

/* Adds an independent draw to each of VALUES[count]. Sums must not leave int64_t: keep |value|
 * below 2^62. */
void rounded_gaussian_add(struct noise_source *source, double stddev, int64_t *values,
                          size_t count);

/* ---- what draws are made of, for tests */

/* stddev (Z1, Z2) from the bits that are known of U and V, and how far both may be from the truth.
 */
struct rounded_gaussian_pair {
    double x, y, slack;
};

/* From 32 bits each. */
struct rounded_gaussian_pair rounded_gaussian_rough(uint32_t u, uint32_t v, double stddev);

/* From 96 bits each: U and V go on with MORE[0] and MORE[1]. */
struct rounded_gaussian_pair rounded_gaussian_middle(uint32_t u, uint32_t v, const uint64_t more[2],
                                                     double stddev);

/* From 224 and 160 bits: U goes on with MORE[0], [2] and [4], V with MORE[1] and [3]. OUT: the two
 * draws; REST: how far the real numbers are from them, in [-0.5, 0.5]. */
void rounded_gaussian_fine(uint32_t u, uint32_t v, const uint64_t more[5], double stddev,
                           int64_t out[2], double rest[2]);

#endif
