/* The public terms of a released Q-function (algos/release/q_release.h). */
#ifndef TACET_ALGOS_Q_TERMS_H
#define TACET_ALGOS_Q_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#include "envs/env.h"

enum q_form { Q_FORM_PATH, Q_FORM_FEATURES, Q_FORM_GRID };
#define Q_FORMS 3

/* What two runs that must look alike may differ in. */
enum q_unit {
    Q_UNIT_EXPERT, /* one expert of a dataset: sample and aggregate, gp_q_learning.h */
    Q_UNIT_REWARD, /* the reward function, everywhere by 1 / reward_scale: reward_q.h */
};

/* Of a release, all public. */
struct q_terms {
    enum q_unit unit;
    enum q_form form;
    uint32_t state_dim, action_count;
    double low[ENV_MAX_STATE_DIM], high[ENV_MAX_STATE_DIM]; /* declared bounds; low < high */
    bool clamps;        /* states outside are moved to the bounds; else they are refused */
    uint32_t shards;    /* unit expert only, else 0 */
    bool advantages;    /* unit expert: of values, less their mean over the actions at each state */
    double value_limit; /* V; features: the radius R of a shard's coefficients (unit reward: of each
                           coefficient) */
    double lipschitz;   /* L per unit of the scaled coordinate; path only, else 0 */
    uint32_t bits;      /* path: answers at multiples of 2^-bits of the scaled coordinate */
    uint32_t knot_bits; /* path: 2^knot_bits cells; grid: nodes along each axis */
    uint32_t features;  /* their number; features only, else 0 */
    uint64_t seed;      /* of the features */
    double beta;        /* of the kernel; path, and grids of unit reward, else 0 */
    double sensitivity, sigma; /* of one update */
    uint64_t updates;          /* each with noise of its own: 1 for unit expert */
    double mu;                 /* of all of them: sensitivity sqrt(updates) / sigma */
    double noise_to_range;     /* sigma sqrt(updates) / V (features: of a value, at most) */
    double rate, error_limit, reward_scale; /* unit reward: see reward_q.h; else 0 */
    uint32_t batch;                         /* likewise */
};

#endif
