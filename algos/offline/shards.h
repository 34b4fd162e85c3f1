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
    const struct algorithm *algorithm; /* must take a dataset and support MECHANISM_NONE */
    /* Request for ALGORITHM: sizes, parameters, discount. Its mechanism is read as NONE. Shard i is
     * trained with seed + i. */
    struct algorithm_request request;
    uint32_t count; /* 1 .. SHARDS_MAX */

    /* Called for shard 0, 1, ... on the caller's thread. POLICY and its training DATA are borrowed.
     * Both are NULL when the shard has no transition, or when nothing can be learned from it. That
     * is no error, because an error would reveal something about one shard's data. */
    void (*take)(void *context, uint32_t shard, const struct policy *policy,
                 const struct dataset *data);
    void *context;
    /* The result of TAKE so far. Checkpoints save KEPT and restore it. */
    void *kept;
    size_t kept_size;
};

/* The shard of the expert with KEY. */
uint32_t shards_place(uint64_t key, uint64_t seed, uint32_t count);

/* Computes the optimiser steps of all shards together, and the shape of their networks. Other
 * results: those of the algorithm's plan, with its message. */
enum algorithm_status shards_plan(const struct shards *shards, uint64_t *out_steps,
                                  struct mlp_shape *out_shape, const char **message);

/* Trains all shards. Reads of RUN: data (with expert_keys), checkpoint and hooks. If hooks has
 * parallel, several shards are trained at a time. A shard without data takes as many steps as the
 * others. A checkpoint holds finished shards only; the unfinished ones begin again. ALGORITHM_OK:
 * TAKE was called for every shard. Else _PAUSED, _CANCELLED, _NO_MEMORY, _BAD_CHECKPOINT, or
 * _BAD_INPUT with a message about public things. */
enum algorithm_status shards_train(const struct shards *shards, const struct algorithm_run *run,
                                   const char **message);

#endif
