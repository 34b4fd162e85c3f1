/* A rehearsal: a job's training, with its settings and its noise, on made-up data of the same shape
 * (made_up_world.h), and how well its policies then play. It shows what noise of that size leaves
 * of something that can be learnt, for nothing: everything here is public, and nobody's data take
 * part. What it earns elsewhere is another matter. */
#ifndef TACET_ALGOS_ADVICE_REHEARSAL_H
#define TACET_ALGOS_ADVICE_REHEARSAL_H

#include "algos/algorithm.h"

#define REHEARSAL_RUNS         3
#define REHEARSAL_MAX_EXPERTS  100000u
#define REHEARSAL_TRAJECTORIES 10       /* of an expert at most */
#define REHEARSAL_STEPS        100      /* of a trajectory at most */
#define REHEARSAL_TRANSITIONS  2000000u /* of all experts at most, unless these are more */
#define REHEARSAL_EPISODES     100      /* that a policy plays */
#define REHEARSAL_BLOCK        5        /* episodes between two pulses */

/* What of it a plan keeps. */
struct rehearsal_terms {
    uint32_t runs;                 /* 1 .. REHEARSAL_RUNS, each in a world of its own; 0: none */
    uint32_t max_episode_steps;    /* of the dataset */
    double min_action_probability; /* likewise */
};

struct rehearsal {
    const struct algorithm *algorithm;       /* of ALGORITHM_LEARNS_FROM_DATA */
    const struct algorithm_request *request; /* of a mechanism with noise, without a judge, for at
                                                most REHEARSAL_MAX_EXPERTS, ENV_MAX_STATE_DIM and
                                                ENV_MAX_ACTIONS. A choice plays in the made-up
                                                world, in episodes of its length */
    const struct algorithm_plan *plan;       /* of the request */
    struct rehearsal_terms terms;
    const struct algorithm_hooks *hooks; /* of whom pulse and parallel are asked. A pulse hears of
                                            steps out of the plan's total_steps, as if all trainings
                                            were one of that length */
    struct noise_source *noise;          /* as in struct algorithm_run */
};

/* Mean returns, of episodes of STEPS steps, in each of which the right action earns 1. */
struct rehearsal_run {
    double private_return; /* of the rehearsed training */
    double plain_return;   /* of the same training without a mechanism, on the same data */
    double behaviour;      /* of the experts */
    double quality;        /* of the private policy: 0 is random play, 1 the plain policy. NAN: the
                              plain policy is hardly better than random play */
};

struct rehearsal_figures {
    uint32_t runs, steps;
    double random_return, best_return; /* of random play and of the right actions */
    struct rehearsal_run run[REHEARSAL_RUNS];
};

/* True when that can be rehearsed: all of it is within the bounds above. */
bool rehearsal_fits(const struct algorithm *algorithm, const struct algorithm_request *request,
                    const struct rehearsal_terms *terms);

/* Makes up worlds and experts from the request's seed, and trains twice in each, with and without
 * the mechanism. The settings that speak of somebody's rewards or records (reward_scale,
 * return_low, return_high, full_weight_transitions, the scale of skill) are given the made-up
 * world's. Nothing is saved: whoever pauses it begins again. As algorithm->train. */
enum algorithm_status rehearsal_train(const struct rehearsal *rehearsal,
                                      struct rehearsal_figures *out, const char **message);

#endif
