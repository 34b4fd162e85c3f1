/* An ensemble: one policy of each shard of the experts (algos/offline/shards.h), whose mean a
 * teacher answers with noise (Papernot et al. 2017 do so with votes). An expert is in one shard, so
 * one expert more, fewer, or with other data changes one of the M distributions, from a point of
 * the simplex to another: at most sqrt(2) in the 2-norm, and the mean by at most sqrt(2) / M,
 * whatever the algorithm makes of a shard. Proof and assumptions: docs/privacy.md, "Teachers of
 * shards".
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

/* Whether COUNT networks of that SHAPE are an ensemble that can be asked. */
bool ensemble_fits(const struct mlp_shape *shape, uint32_t count);

/* M times no policy. NULL: it does not fit, or no memory. Free with ensemble_free. */
struct ensemble *ensemble_new(const struct mlp_shape *shape, uint32_t actions, uint32_t count);

/* Wipes and frees it; takes NULL. */
void ensemble_free(struct ensemble *ensemble);

/* Copies the POLICY of SHARD; NULL, another shape or numbers that are not finite: the shard has
 * none. For struct shards. */
void ensemble_take(void *ensemble, uint32_t shard, const struct policy *policy,
                   const struct dataset *data);

/* How far apart the means of neighbours are at most, in the 2-norm; rounding included. */
double ensemble_change(uint32_t count);

/* The means of the policies' distributions at finite STATES[count * input] to
 * PROBABILITIES[count * actions], each the same as if it were asked for alone. Where a shard has no
 * policy, or one whose outputs are not finite there, all actions alike stand in. The distributions
 * are rounded to multiples of 2^-40 that sum to one and added as integers, so no shard's number
 * touches the rounding of another's. */
void ensemble_probabilities(const struct ensemble *ensemble, const float *states, uint32_t count,
                            double temperature, double *probabilities);

/* Trains one policy for each of COUNT shards, with mechanism none, as shards_train says of RUN,
 * whose request and algorithm are those of one policy. On ALGORITHM_OK *out is the caller's. */
enum algorithm_status ensemble_train(const struct algorithm *algorithm, uint32_t count,
                                     const struct algorithm_run *run, struct ensemble **out,
                                     const char **message);

/* A little-endian byte form with a checksum, *OUT_SIZE bytes. The caller wipes and frees it. */
unsigned char *ensemble_to_bytes(const struct ensemble *ensemble, size_t *out_size);

/* The ensemble those bytes hold, or NULL when they are not one, or memory is short. */
struct ensemble *ensemble_from_bytes(const unsigned char *bytes, size_t size);

#endif
