/* What the target network says at s', kept from one copy of it to the next: until then it is a
 * function of the transition alone. With N transitions and a copy every K steps of B examples,
 * min(N, K B) forwards serve K steps instead of K B. Valid for hard copies only. Within
 * algos/offline. */
#ifndef TACET_ALGOS_OFFLINE_TARGET_CACHE_H
#define TACET_ALGOS_OFFLINE_TARGET_CACHE_H

#include "algos/nn/batch.h"
#include "algos/offline/dp_trainer.h"

struct target_cache {
    const struct dataset *data;
    const struct trainer_settings *settings;
    struct batch *network; /* BLOCK rows; owned */
    uint32_t kept;         /* numbers of a transition */
    uint64_t copy;         /* which copy of the target is in force, from 1 */
    float *values;         /* transitions x kept; owned */
    uint64_t *copy_of;     /* of each block: the copy whose values it holds; owned */
};

#define TARGET_CACHE_MAX_BYTES ((size_t)1 << 28)

/* Whether keeping pays: the whole dataset is asked for at least twice between two copies, and the
 * values fit into TARGET_CACHE_MAX_BYTES. It never does with a feed, which changes the data. */
bool target_cache_pays(const struct trainer_settings *settings, const struct dataset *data);

/* The bytes that a target cache takes; 0 where it does not pay. */
size_t target_cache_bytes(const struct trainer_settings *settings, const struct dataset *data);

/* An empty cache. DATA and SETTINGS are borrowed. Free with target_cache_clear. */
void target_cache_init(struct target_cache *cache, const struct trainer_settings *settings,
                       const struct dataset *data);

/* Frees what it holds; takes a cache that is all zero. */
void target_cache_clear(struct target_cache *cache);

/* The target network was copied: all that is kept is forgotten. */
void target_cache_forget(struct target_cache *cache);

/* The first target_outputs outputs of the network of parameters TARGET at the next state of
 * TRANSITION; valid until the next call. They are computed in blocks of transitions of one fixed
 * size, at fixed places, so that they have the same bits whenever and however often that is done.
 */
const float *target_cache_at(struct target_cache *cache, const float *target, uint64_t transition);

/* Computes what target_cache_copy of these transitions would: until the next target_cache_forget
 * such calls only read, and may be made side by side. */
void target_cache_fill(struct target_cache *cache, const float *target, const uint64_t *transitions,
                       uint32_t count);

/* The same of COUNT transitions, one after the other into OUT[count x target_outputs]. */
void target_cache_copy(struct target_cache *cache, const float *target, const uint64_t *transitions,
                       uint32_t count, float *out);

/* Transitions of a batch lie anywhere in memory, which is asked for them so many ahead: waiting for
 * one after the other takes longer than to copy them. */
#define EXAMPLES_AHEAD 8

#endif
