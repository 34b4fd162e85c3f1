/* The parameters of dqn, and what follows from a request alone. Within the files
 * of dqn. */
#ifndef TACET_ALGOS_ONLINE_DQN_PARAMETERS_H
#define TACET_ALGOS_ONLINE_DQN_PARAMETERS_H

#include "algos/offline/offline.h"
#include "algos/online/dqn_play.h"

/* Positions in the table, behind those of the offline algorithms. */
enum dqn_parameter {
    DQN_P_UNIT = OFFLINE_VALUE_COUNT,
    DQN_P_BUFFER,
    DQN_P_DISCOUNT,
    DQN_P_STEP_LIMIT,
    DQN_P_BOUND,
    DQN_P_PLAY,
    DQN_P_RANDOM_USERS,
    DQN_P_ROUND_USERS,
    DQN_P_ROUND_UPDATES,
    DQN_P_FINAL_EXPLORATION,
    DQN_P_EXPLORING_SHARE,
    DQN_P_COUNT
};

/* The choices of "play". */
enum { DQN_PLAYS_RANDOM, DQN_PLAYS_GREEDY };

/* Whether the run plays while it learns; else its buffer is filled before the first update. */
bool dqn_plays_greedy(const struct algorithm_request *request);

/* The most steps of an episode in WORLD, which may be NULL. */
uint32_t dqn_step_limit(const struct algorithm_request *request, const struct env *world);

/* The bounds of observations in the world of that name; false: there are none. */
bool dqn_bounds_of(const struct algorithm_request *request, const char *world, uint32_t dim,
                   struct observation_bounds *out);

/* The rounds of a run that plays while it learns. */
struct dqn_rounds dqn_rounds_of(const struct algorithm_request *request);

/* What distinguishes dqn among the offline algorithms, whose loop trains it. */
extern const struct offline_kind dqn_kind;

/* What the offline algorithms are asked: slots are its experts, and noised observations are data
 * like any other. */
struct algorithm_request dqn_inner_request(const struct algorithm_request *request);

/* Implements struct algorithm.train. */
enum algorithm_status dqn_train(const struct algorithm_run *run, struct policy **out_policy,
                                const char **message);

/* Implements struct algorithm.describe. */
void dqn_describe(const struct algorithm_request *request, const struct algorithm_plan *plan,
                  const char *world, struct statement *out);

#endif
