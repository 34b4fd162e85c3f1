/* Exact laws on the integers: made of uniform words and comparisons alone, no floating point, so
 * that the proofs about them hold for the program. Canonne, Kamath and Steinke 2020, "The discrete
 * Gaussian for differential privacy". Running times depend on the draws, and nothing masks them.
 * Poisson samples are here as well: their rate is a double, which is scaled by a power of two. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_DISCRETE_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_DISCRETE_H

#include <stdbool.h>
#include <stdint.h>

struct noise_source;

/* Returns I with probability weights[i] / (sum of weights), exactly. COUNT is positive; the sum is
 * positive and below 2^64. The function reads all weights, whatever it draws. */
uint32_t noise_categorical(struct noise_source *source, const uint64_t *weights, uint32_t count);

/* The largest numerator and denominator of a scale that the functions of this file accept. */
#define NOISE_DISCRETE_MAX (UINT64_C(1) << 56)

/* X with probability proportional to exp(-|x| / b), b = numerator / denominator, both in
 * 1 .. NOISE_DISCRETE_MAX, exactly (CKS, Algorithm 2). With a count of sensitivity s this is
 * (s / b)-differentially private. Values that no int64_t holds are clamped: at the greatest scale
 * with probability e^-127, at 2^40 with probability e^-(2^23). */
int64_t noise_discrete_laplace(struct noise_source *source, uint64_t numerator,
                               uint64_t denominator);

/* True with probability exp(-X), X >= 0 and finite. Its whole part is exact, its fraction a
 * multiple of 2^-62. */
bool noise_exp_coin(struct noise_source *source, double x);

/* Poisson sampling: each of 0 .. n-1 joins with probability RATE independently (never more often,
 * and less by 2^-64 at most). Writes the chosen numbers in increasing order to CHOSEN (room for n)
 * and gives how many. */
uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen);

#endif
