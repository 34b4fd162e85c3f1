/* The gradients of some examples, clipped one by one or not. Within algos/offline. */
#ifndef TACET_ALGOS_OFFLINE_TRAINER_CHUNK_H
#define TACET_ALGOS_OFFLINE_TRAINER_CHUNK_H

#include "algos/nn/batch.h"
#include "algos/nn/per_example_lattice.h"
#include "algos/offline/dp_trainer.h"
#include "algos/offline/target_cache.h"

/* A workspace for up to TRAINER_CHUNK_ROWS examples. */
struct trainer_chunk {
    const struct trainer_settings *settings;
    uint32_t rows; /* whose gradients were found last */
    struct batch
        *online; /* rows of s, then, if the rule bootstraps, of s': one product serves both */
    struct batch *target; /* rows of s'; NULL unless the rule bootstraps */
    float *target_next;   /* what the rule reads of it, rows x target_outputs; owned */
    uint16_t actions[TRAINER_CHUNK_ROWS];
    float rewards[TRAINER_CHUNK_ROWS];
    uint8_t terminated[TRAINER_CHUNK_ROWS];
    double squared_norm[TRAINER_CHUNK_ROWS];
    float factor[TRAINER_CHUNK_ROWS];
    struct per_example_lattice lattice; /* all zero unless the settings ask for whole_numbers */
};

/* Which examples, and what is done with their gradients. */
struct trainer_examples {
    const struct dataset *data;
    uint32_t count;              /* at most TRAINER_CHUNK_ROWS, and a multiple of GROUP */
    uint32_t group;              /* so many neighbours are clipped as one; they weigh alike */
    const uint64_t *transitions; /* rows of DATA */
    const float *weights;        /* each gradient is multiplied by its own, after the clip */
    double clip_norm;            /* of a group's mean gradient; 0: gradients are not clipped */
    struct target_cache *cache;  /* of DATA; NULL: the target network is always asked */
};

/* A workspace for the rule of SETTINGS, which is borrowed. Free with trainer_chunk_clear. */
void trainer_chunk_init(struct trainer_chunk *chunk, const struct trainer_settings *settings);

/* Frees what it holds; takes a workspace that is all zero. */
void trainer_chunk_clear(struct trainer_chunk *chunk);

/* Finds the examples' gradients at the ONLINE parameters, which are then clipped and weighed but
 * not summed; TARGET may be NULL when the rule does not bootstrap. A row's bits do not depend on
 * those beside it: many chunks may do parts of a batch side by side, where the cache, if any, has
 * all that they ask for. */
void trainer_chunk_find(struct trainer_chunk *chunk, const struct trainer_examples *examples,
                        const float *online, const float *target);

/* Appends the rows of FROM to those of CHUNK. */
void trainer_chunk_append(struct trainer_chunk *chunk, const struct trainer_chunk *from);

/* The sum of the gradients that were found, added to GRADIENT or, for the FIRST chunk, written
 * there. */
void trainer_chunk_sum(const struct trainer_chunk *chunk, float *gradient, bool first);

/* As trainer_chunk_find in whole numbers, UNITS for 1 (algos/nn/per_example_lattice.h);
 * per_example_lattice_product sums them. The settings must ask for whole_numbers, and the examples
 * for a clip. */
void trainer_chunk_find_whole(struct trainer_chunk *chunk, const struct trainer_examples *examples,
                              const float *online, const float *target, double units);

/* Draws the public coins of the rounding of step STEP of the run SEED, which whole gradients need.
 */
void trainer_chunk_begin_whole(struct trainer_chunk *chunk, uint64_t seed, uint64_t step);

#endif
