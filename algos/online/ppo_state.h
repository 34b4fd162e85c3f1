/* An agent's memory between updates. Within algos/online. */
#ifndef TACET_ALGOS_ONLINE_PPO_STATE_H
#define TACET_ALGOS_ONLINE_PPO_STATE_H

#include "algos/nn/batch.h"
#include "algos/nn/optimizer.h"
#include "algos/online/ppo.h"

/* One copy of the world. */
struct ppo_world {
    double observation[ENV_MAX_STATE_DIM];
    double episode_return;
    uint32_t episode_steps;
};

/* One roll-out: steps x worlds transitions, in that order. */
struct ppo_rollout {
    float *states; /* (steps + 1) x worlds x state_dim: the last row is where it stopped */
    uint32_t *actions;
    float *log_probability; /* of the action, when it was drawn */
    float *reward;          /* scaled */
    float *value;           /* (steps + 1) x worlds */
    float *next_value;
    uint8_t *ended; /* terminated or truncated */
    float *advantage;
    float *target;
};

struct ppo {
    struct ppo_settings settings;
    const struct env *env;
    double physics[ENV_MAX_PARAMETERS];
    struct rng rng;

    struct mlp_shape policy_shape, value_shape;
    size_t policy_count, count; /* parameters: the policy's, then the value's */
    float *weights;
    float *gradient;
    struct optimizer adam;

    struct batch *acting;    /* policy, one row a world */
    struct batch *improving; /* policy, one row a transition of a minibatch */
    struct batch *judging;   /* value, as many rows */
    float *scratch;          /* of mlp_forward_one on the value network */

    struct ppo_world *world;
    void **instances; /* of the world; as env_open gives them */
    bool failed;      /* one of them broke */
    struct ppo_rollout rollout;
    uint32_t *order; /* a permutation of the transitions */

    uint64_t transitions, episodes;
    double recent[PPO_RECENT]; /* returns of the last ended episodes, a ring */
};

/* Plays the roll-out: fills everything in ROLLOUT but advantage and target. */
void ppo_play(struct ppo *ppo);

/* Begins an episode in world W. */
void ppo_begin_episode(struct ppo *ppo, uint32_t w);

#endif
