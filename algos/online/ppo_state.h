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

/* Answers about the present roll-out; all zero without a guide. */
struct ppo_guidance {
    struct kickstart_guide guide;
    bool silent;
    uint32_t answered; /* transitions that have an answer */
    float *plain;      /* steps x worlds x state_dim, as the worlds gave them */
    uint32_t *place;   /* of each transition: 1 + the index of its answer, or 0 */
    float *asked;      /* questions x state_dim */
    double *answers;   /* questions x actions */
    double radius;
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
    struct ppo_guidance guidance;

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

/* Asks the guide, if there is one and it speaks, about the roll-out. */
void ppo_ask(struct ppo *ppo);

/* Frees what a guide needs; all is zero afterwards. */
void ppo_clear_guidance(struct ppo_guidance *guidance);

/* Adds to GRADIENT the pull of transition ROW's answer, if it has one; SHARE is a transition's part
 * of its minibatch, one over their number. */
void ppo_follow(const struct ppo *ppo, uint32_t row, const float *logits, double share,
                float *gradient);

/* Rewards are multiplied by it. */
double ppo_reward_factor(const struct ppo *ppo, const struct ppo_scales *scales);

/* Of the last PPO_RECENT ended episodes; 0 before any. */
double ppo_mean_return(const struct ppo *ppo);

/* Begins episodes in all worlds; false: one broke. */
bool ppo_begin_episodes(struct ppo *ppo);

#endif
