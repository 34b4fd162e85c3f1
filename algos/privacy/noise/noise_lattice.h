/* Normal noise on the integers, exactly: what the continuous Gaussian mechanism would give,
 * rounded. A function of the noise's own randomness alone, so every theorem on the continuous
 * mechanism holds for it as post-processing, with no allowance for floating point.
 *
 * For a lattice that is given and any deviation on it; noise_rounded_gaussian.h draws faster from a
 * table where the lattice may be chosen to suit the noise. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_LATTICE_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_LATTICE_H

#include <stdint.h>

struct noise_source;

#define NOISE_LATTICE_FRACTION 20 /* bits of a standard deviation behind the point */
#define NOISE_LATTICE_MAX      (UINT64_C(1) << 52)

/* round(N(0, s^2)) with s = SCALE / 2^20, SCALE in 1..2^52. Karney, "Sampling exactly from the
 * normal distribution" (2016): digits are drawn as they are needed, until the integer is certain.
 * About a dozen draws of 64 bits; their number varies with the result. */
int64_t noise_lattice_gaussian(struct noise_source *source, uint64_t scale);

/* The same from uniform words that NEXT gives, independent of one another: for noise that is a
 * function of a key. */
int64_t noise_lattice_gaussian_by(uint64_t (*next)(void *context), void *context, uint64_t scale);

/* What a draw is made of, for tests: the integer nearest to s (k + x), x = 0.DIGITS in base 2^64
 * cut off after all of them, k at most 63. A draw looks at the second digit once in 2^32 or more,
 * and beyond the last with probability 2^-2040 at most.
 */
#define NOISE_LATTICE_DIGITS 32

/* The integer nearest to s (k + x) for these digits of x. */
int64_t noise_lattice_round(uint64_t scale, uint32_t k,
                            const uint64_t digits[NOISE_LATTICE_DIGITS]);

#endif
