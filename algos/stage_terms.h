/* What the first of two stages of a run is asked to be, and what it is planned to be. Planning is
 * algos/offline/stage_plan.h. */
#ifndef TACET_ALGOS_STAGE_TERMS_H
#define TACET_ALGOS_STAGE_TERMS_H

#include <stdint.h>

#include "algos/privacy/training/sparse_vector.h"
#include "envs/env.h"

enum stage_kind {
    STAGE_NONE,
    STAGE_STABLE,
    STAGE_CONSENSUS,
};

enum stable_source {
    STABLE_ROLLOUTS, /* the drawn expert's policy is played in Tacet's own world: everything that
                        the expert uploaded is protected */
    STABLE_LOGGED,   /* an uploaded trajectory of the drawn expert: protects its policy and not the
                        trajectory, which whoever knows it can recognise */
    STABLE_SOURCES
};

/* The weight of an expert's vote, from its return in Tacet's world (skill_voices.h). Public. */
struct skill_scale {
    double low, high;  /* the returns that give weight 0 and weight 1 */
    double power;      /* of the weight between them; 0: nobody plays, and all weights are 1 */
    uint32_t episodes; /* of each expert, 1 .. SKILL_MAX_EPISODES */
};
#define SKILL_MAX_EPISODES 16

/* All combinations of points[d] evenly spaced values from low[d] to high[d], of a single point the
 * middle; or the states of a list, one after the other. Public. */
struct consensus_grid {
    uint32_t dims; /* 0: there is no grid */
    double low[ENV_MAX_STATE_DIM], high[ENV_MAX_STATE_DIM];
    uint32_t points[ENV_MAX_STATE_DIM];
    uint32_t count; /* of the list; 0: there is none, and the members above say all */
    double *states; /* [count x dims], of whoever filled the struct in */
};

/* Public. */
struct stage_request {
    enum stage_kind kind;
    double epsilon_share, delta_share; /* of the budget, for this stage; in (0, 1] */
    uint32_t max_length;               /* steps of the longest trajectory; 1 with a grid */
    /* STAGE_STABLE */
    enum stable_source source;
    uint32_t runs;          /* trajectories that are drawn, T */
    double min_probability; /* of any action of any expert */
    enum sparse_vector_accounting accounting;
    /* STAGE_CONSENSUS */
    uint32_t labels;
    double explore;  /* share of steps that are random and bear no label */
    uint32_t rounds; /* of labels, between which a student learns to choose states */
    struct skill_scale skill;
    struct consensus_grid grid; /* declared states, LABELS of them, in place of played ones */
};

/* What consensus labels cost: the plan that the accountant and the sampler share. */
struct consensus_plan {
    uint32_t labels;
    uint32_t action_count;
    double sensitivity;      /* of one expert, in experts: sqrt(1 - 1/|A|) */
    double noise_multiplier; /* noise over sensitivity: the n labels are sqrt(n)/it -Gaussian-DP */
    double noise;            /* standard deviation of a sum's coordinate, in experts */
    uint64_t lattice_scale;  /* the same in units of 1/(|A| CONSENSUS_UNIT) 2^-20, rounded up */
};

struct stage_plan {
    struct sparse_vector_plan stable; /* STAGE_STABLE */
    struct consensus_plan consensus;  /* STAGE_CONSENSUS */
};

#endif
