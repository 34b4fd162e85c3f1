/* Random subsets of 0 .. n-1: what amplification by sampling is proved about. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_SUBSET_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_SUBSET_H

#include <stdint.h>

struct noise_source;

/* Poisson sampling: each of 0 .. n-1 joins with probability RATE independently (never more often,
 * and less by 2^-64 at most). Writes the chosen numbers in increasing order to CHOSEN (room for n)
 * and gives how many. */
uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen);

#endif
