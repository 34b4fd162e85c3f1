/* Pseudo-random numbers for worlds and public coins: fast, small, reproducible from a seed.
 * Never used for privacy noise; that is algos/privacy/noise/noise.h. */
#ifndef TACET_ENVS_RNG_H
#define TACET_ENVS_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* xoshiro256++ (Blackman and Vigna 2019). The caller owns it; one per instance, never shared by
 * threads. */
struct rng {
    uint64_t state[4];
};

/* Sets RNG to the history that SEED and STREAM name; different streams of one seed are independent
 * histories (splitmix64 of both fills the state). */
void rng_seed(struct rng *rng, uint64_t seed, uint64_t stream);

/* The next 64 uniform bits. */
uint64_t rng_next(struct rng *rng);

/* Uniform on [0, 1), 53 bits. */
double rng_uniform(struct rng *rng);

/* Uniform on [low, high). */
double rng_between(struct rng *rng, double low, double high);

/* Uniform on 0 .. n-1 without modulo bias; n > 0. */
uint32_t rng_below(struct rng *rng, uint32_t n);

/* Standard normal. */
double rng_normal(struct rng *rng);

#ifdef __cplusplus
}
#endif

#endif
