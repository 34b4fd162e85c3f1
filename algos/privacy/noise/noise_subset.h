/* Random subsets of 0 .. n-1 and their sizes; what amplification by sampling is proved about. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_SUBSET_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_SUBSET_H

#include <stdint.h>

struct noise_source;

/* Poisson sampling: each of 0 .. n-1 joins with probability RATE independently (never more often,
 * and less by 2^-64 at most). Writes the chosen numbers in increasing order to CHOSEN (room for n)
 * and gives how many. */
uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen);

/* How many would join: Binomial(n, RATE), RATE rounded as above. Time grows with n. */
uint32_t noise_binomial(struct noise_source *source, double rate, uint32_t n);

/* A uniformly drawn subset of SIZE numbers, exactly, in increasing order to CHOSEN[size]; SIZE <=
 * n. Knuth, The Art of Computer Programming 2, section 3.4.2, Algorithm S. */
void noise_fixed_sample(struct noise_source *source, uint32_t size, uint32_t n, uint32_t *chosen);

/* Binomial sampling: a size from Binomial(n, RATE), then a uniform subset of that size: the same
 * law as noise_poisson_sample, for schemes that publish or cap the size before anyone is chosen. A
 * size above MOST becomes MOST (a cap is not Poisson sampling: account for it). CHOSEN has room for
 * min(n, MOST); gives how many. */
uint32_t noise_binomial_sample(struct noise_source *source, double rate, uint32_t n, uint32_t most,
                               uint32_t *chosen);

#endif
