/* Sample and aggregate: the experts of a dataset are split into shards by who they are, and one
 * policy is trained on each, as if the others did not exist (Nissim, Raskhodnikova and Smith 2007;
 * Papernot et al. 2017). One expert is in one shard, so it changes one policy, whatever it does to
 * that one. None of the policies may leave: whoever takes them puts the noise on what he makes of
 * them.
 *
 * The split looks at nothing but dataset.expert_keys and a public seed. Were it an expert's place
 * in a list, one expert less would move others. */
#ifndef TACET_ALGOS_OFFLINE_SHARDS_H
#define TACET_ALGOS_OFFLINE_SHARDS_H

#include "algos/algorithm.h"

#define SHARDS_MAX 100000

struct shards {
    const struct algorithm *algorithm; /* needs a dataset, knows MECHANISM_NONE */
    /* For that algorithm: sizes, parameters, discount; the mechanism is taken for NONE. Shard i is
     * trained with seed + i. */
    struct algorithm_request request;
    uint32_t count; /* 1 .. SHARDS_MAX */

    /* Called for shard 0, 1, ... on the caller's thread. POLICY and DATA, what it was trained on,
     * are borrowed; both NULL: the shard holds no transition, or nothing can be learned from it;
     * that is no error, because it would tell of one shard's data. */
    void (*take)(void *context, uint32_t shard, const struct policy *policy,
                 const struct dataset *data);
    void *context;
    /* What TAKE has made of the policies so far, saved in checkpoints and put back from them. */
    void *kept;
    size_t kept_size;
};

/* The shard of the expert with that key. */
uint32_t shards_place(uint64_t key, uint64_t seed, uint32_t count);

/* Optimiser steps of all shards together, and the shape of their networks; or what the algorithm's
 * plan says, with its message. */
enum algorithm_status shards_plan(const struct shards *shards, uint64_t *out_steps,
                                  struct mlp_shape *out_shape, const char **message);

/* Trains them all. Of RUN: data (with expert_keys), checkpoint and hooks; several shards at a time
 * where hooks has parallel. A shard without data takes as many steps as the others. A checkpoint
 * holds whole shards; those that were under way begin again. ALGORITHM_OK when TAKE has had every
 * one, _PAUSED, _CANCELLED, _NO_MEMORY, _BAD_CHECKPOINT, or _BAD_INPUT with a message about public
 * things. */
enum algorithm_status shards_train(const struct shards *shards, const struct algorithm_run *run,
                                   const char **message);

#endif
