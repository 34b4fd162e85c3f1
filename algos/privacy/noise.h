/* Randomness that protects people: a cryptographically secure generator with fast key erasure, and
 * the samplers that draw from it. Nothing else in Tacet may draw noise. Source: design notes
 * "Noise" (docs/privacy.md). */
#ifndef TACET_ALGOS_PRIVACY_NOISE_H
#define TACET_ALGOS_PRIVACY_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One stream; owned by one thread at a time. */
struct noise_source;

/* A stream keyed by the operating system's generator for that PURPOSE ("sgd", "dirichlet", ...), or
 * NULL when the system cannot give randomness or memory. After fork the child must make its own. */
struct noise_source *noise_source_new(const char *purpose);

/* A stream that a test can repeat. Production code has no path to this; noise_source_is_injected
 * tells. */
struct noise_source *noise_source_new_injected(const uint8_t key[32]);
bool noise_source_is_injected(const struct noise_source *source);

/* Erases the key and frees. Takes NULL. */
void noise_source_free(struct noise_source *source);

void noise_bytes(struct noise_source *source, void *bytes, size_t size);
uint64_t noise_u64(struct noise_source *source);
uint32_t noise_below(struct noise_source *source, uint32_t n); /* uniform 0..n-1, exact; n > 0 */
double noise_uniform(struct noise_source *source); /* uniform on the open interval (0, 1) */
double noise_normal(struct noise_source *source);  /* standard normal, double */
double noise_log_gamma(struct noise_source *source,
                       double shape); /* log of a Gamma(shape, 1) draw; shape > 0 */

/* Adds stddev * N(0,1) to each of v[count]; the fast path of DP-SGD. */
void noise_gaussian_add(struct noise_source *source, float *v, size_t count, float stddev);

/* Poisson sampling: each of 0..n-1 joins with probability RATE independently. Writes the chosen
 * numbers in increasing order to CHOSEN (room for n) and gives how many. */
uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen);

#endif
