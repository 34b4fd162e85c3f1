/* Private estimates of where the coordinates of a dataset's states lie, for datasets that do not
 * describe their features. Two Gaussian releases of sums over experts; the rest is post-processing.
 *
 * First each expert gives, for each coordinate, the shares of its states in public buckets (powers
 * of two of both signs): a vector of norm at most 1, so all d of them at most sqrt(d). The buckets
 * that stand out of the noise give a coarse range. Then each expert gives 1 and, for each
 * coordinate, the means of u and of u^2, u being the state moved and scaled to -1..1 by the coarse
 * range and clipped: norm at most sqrt(1 + 2 d). Mean and deviation of u follow, and the range is
 * the mean +- 1.645 deviations (with an allowance for their noise), which is where 5 % and 95 % of
 * a normal law lie. Quantiles of a second histogram would need some thirty noisy numbers where two
 * do.
 *
 * Everything is in whole numbers: shares and means are rounded towards zero to multiples of
 * 1 / RANGES_UNIT, which lengthens no vector, sums are exact, and noise is the rounded Gaussian of
 * noise_lattice.h. docs/proofs/feature_ranges.md. */
#ifndef TACET_ALGOS_RELEASE_FEATURE_RANGES_H
#define TACET_ALGOS_RELEASE_FEATURE_RANGES_H

#include "algos/algorithm.h"

#define RANGES_DIM_MAX   64
#define RANGES_EXPONENTS 60 /* buckets of each sign: 2^-20 .. 2^40 */
#define RANGES_BUCKETS   (2 * RANGES_EXPONENTS + 1)
#define RANGES_UNIT      65536

/* Gives the ranges by hooks.give_ranges; one is NAN where all buckets of its coordinate drown. */
extern const struct algorithm feature_ranges_algorithm;

/* ---- the pieces, for tests and audits */

/* The bucket of X: 0 .. RANGES_BUCKETS - 1 in the order of the numbers. */
uint32_t ranges_bucket(double x);

/* The bounds of BUCKET. */
struct feature_range ranges_of_bucket(uint32_t bucket);

/* Adds the first or, with COARSE (a range of each coordinate), the second vector of EXPERT of DATA
 * to SUM: of state_dim x RANGES_BUCKETS, or of 1 + 2 x state_dim numbers. */
void ranges_add_expert(const struct dataset *data, uint32_t expert, const struct features *coarse,
                       int64_t *sum);

/* The 2-norm of such a vector at most, in units of 1 / RANGES_UNIT, rounded up. */
double ranges_norm(uint32_t state_dim, bool coarse);

/* Releases SUM[count]: adds noise of NOISE_MULTIPLIER times NORM to each number. */
void ranges_release(struct noise_source *noise, double noise_multiplier, double norm, int64_t *sum,
                    size_t count);

#endif
