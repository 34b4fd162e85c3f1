/* An ensemble: one policy of each shard of the experts (algos/offline/shards.h), whose mean a
 * teacher answers with noise (Papernot et al. 2017 do so with votes). An expert is in one shard, so
 * one expert more, fewer, or with other data changes one of the M distributions, from a point of
 * the simplex to another: at most sqrt(2) in the 2-norm, and the mean by at most sqrt(2) / M,
 * whatever the algorithm makes of a shard. Proof and assumptions:
 * docs/proofs/shards.md.
 *
 * The policies were trained without noise. Neither they nor their mean may leave. */
#ifndef TACET_ALGOS_RELEASE_ENSEMBLE_H
#define TACET_ALGOS_RELEASE_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/algorithm.h"

#define ENSEMBLE_SHARDS_MIN  2
#define ENSEMBLE_ACTIONS_MAX 64
#define ENSEMBLE_PARAMETERS_MAX                                                                    \
    10000000 /* of all its policies: what one answer multiplies with                               \
              */

struct ensemble {
    struct mlp_shape shape; /* of each policy */
    uint32_t actions;
    uint32_t count; /* M */
    float *members; /* owned: COUNT times ensemble.c's record of a policy, or of none */
};

/* True when an ensemble of COUNT networks of SHAPE is within the bounds. */
bool ensemble_fits(const struct mlp_shape *shape, uint32_t count);

/* Makes an ensemble of COUNT empty places. NULL: it does not fit, or no memory. Free with
 * ensemble_free. */
struct ensemble *ensemble_new(const struct mlp_shape *shape, uint32_t actions, uint32_t count);

/* Wipes and frees ENSEMBLE; takes NULL. */
void ensemble_free(struct ensemble *ensemble);

/* Copies POLICY as that of SHARD. The shard has no policy if POLICY is NULL, has another shape, or
 * has numbers that are not finite. Fits struct shards.take. */
void ensemble_take(void *ensemble, uint32_t shard, const struct policy *policy,
                   const struct dataset *data);

/* Bounds, rounding included, the distance in 2-norm between the means of neighbours. */
double ensemble_change(uint32_t count);

/* Writes to PROBABILITIES[count * actions] the mean of the policies' distributions at finite
 * STATES[count * input]. Each result is the same as if its state were asked for alone. A shard
 * without a policy, or with outputs that are not finite, counts as the uniform distribution.
 * Distributions are rounded to multiples of 2^-40 that sum to one and are added as integers, so no
 * shard's number affects the rounding of another's. */
void ensemble_probabilities(const struct ensemble *ensemble, const float *states, uint32_t count,
                            double temperature, double *probabilities);

/* Trains one policy for each of COUNT shards, without privacy (shards_train). RUN's request and
 * ALGORITHM are those of one policy. On ALGORITHM_OK the caller owns *OUT. */
enum algorithm_status ensemble_train(const struct algorithm *algorithm, uint32_t count,
                                     const struct algorithm_run *run, struct ensemble **out,
                                     const char **message);

/* Encodes ENSEMBLE, little endian with a checksum, as *OUT_SIZE bytes. The caller wipes and frees
 * them. */
unsigned char *ensemble_to_bytes(const struct ensemble *ensemble, size_t *out_size);

/* Decodes an ensemble from BYTES. NULL: the bytes are malformed, or no memory. */
struct ensemble *ensemble_from_bytes(const unsigned char *bytes, size_t size);

#endif
