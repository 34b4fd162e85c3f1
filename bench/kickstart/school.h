/* The teachers of a world: one trained by PPO, and ensembles trained on disjoint shards of experts.
 * What takes time is kept in files. */
#ifndef TACET_BENCH_KICKSTART_SCHOOL_H
#define TACET_BENCH_KICKSTART_SCHOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/policy.h"
#include "envs/env.h"

#define SCHOOL_EXPERTS 3000 /* whose demonstrations ensembles learn from */
#define SCHOOL_SHARDS  3    /* ensembles */
/* Of an ensemble's softmax: each shard says what is best. What one expert can change, sqrt(2) /
 * shards, does not depend on it. */
#define SCHOOL_TEMPERATURE 0.2

struct school_ensemble {
    uint32_t count;           /* shards */
    struct policy **policies; /* count; NULL: a shard that nobody fell into */
    double mean_return;       /* of their mean, played */
};

struct school {
    const struct env *env;
    double physics[ENV_MAX_PARAMETERS];
    struct policy *teacher;               /* hidden (64, 64) */
    double teacher_return, random_return; /* means of 100 episodes */
    double level; /* random_return and 0.95 of the way from there to the teacher's */
    struct school_ensemble ensembles[SCHOOL_SHARDS];
    bool has_ensembles;
};

/* Loads what CACHE has and makes the rest; where the world has a population of experts, ensemble I
 * too if bit I of ENSEMBLES is set. NULL after a line on standard error. */
struct school *school_open(const char *world, const char *cache, unsigned ensembles);
void school_free(struct school *school);

/* NULL: there is none of so many shards. */
const struct school_ensemble *school_ensemble_of(const struct school *school, uint32_t shards);

#endif
