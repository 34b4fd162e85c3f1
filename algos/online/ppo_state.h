/* An agent's memory between updates. Within algos/online. */
#ifndef TACET_ALGOS_ONLINE_PPO_STATE_H
#define TACET_ALGOS_ONLINE_PPO_STATE_H

#include "algos/nn/batch.h"
#include "algos/nn/optimizer.h"
#include "algos/online/normalizer.h"
#include "algos/online/ppo.h"
#include "envs/env_batch.h"

/* One roll-out: steps x worlds transitions, in that order. */
struct ppo_rollout {
    float *states; /* (steps + 1) x worlds x state_dim, normalised: the last is where it stopped */
    uint32_t *actions;
    float *log_probability; /* of the action, when it was drawn */
    float *reward;          /* scaled, and normalised */
    float *value;           /* (steps + 1) x worlds */
    float *next_value;
    uint8_t *ended; /* terminated or truncated */
    float *advantage;
    float *target;
};

struct ppo {
    struct ppo_settings settings;
    const struct env *env;
    struct rng rng; /* weights and the order of minibatches; worlds have their own */

    struct mlp_shape policy_shape, value_shape;
    size_t policy_count, count; /* parameters: the policy's, then the value's */
    float *weights;
    float *gradient;
    struct optimizer adam;

    struct batch *acting;    /* policy, one row a world */
    struct batch *improving; /* policy, one row a transition of a minibatch */
    struct batch *judging;   /* value, as many rows */
    float *scratch;          /* of mlp_forward_one on the value network */

    struct env_batch *worlds; /* each draws its actions from its own generator, too */
    bool failed;              /* one of them broke */
    uint32_t *actions;        /* of one step */
    double *discounted;       /* reward of each world's episode so far, towards its beginning */
    struct ppo_rollout rollout;

    /* What was seen, and what of it held when the roll-out began. */
    struct ppo_scales {
        struct normalizer observations;
        struct normalizer returns; /* one number */
    } seen, frozen;
    uint32_t *order; /* a permutation of the transitions */

    uint64_t updates, transitions, episodes;
    double recent[PPO_RECENT]; /* returns of the last ended episodes, a ring */
    struct ppo_report report;
};

/* Plays the roll-out: fills everything in ROLLOUT but advantage and target. */
void ppo_play(struct ppo *ppo);

/* Rewards are multiplied by it. */
double ppo_reward_factor(const struct ppo *ppo, const struct ppo_scales *scales);

/* Of the last PPO_RECENT ended episodes; 0 before any. */
double ppo_mean_return(const struct ppo *ppo);

/* Begins episodes in all worlds; false: one broke. */
bool ppo_begin_episodes(struct ppo *ppo);

#endif
