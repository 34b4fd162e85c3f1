/* A small actor and critic with one shared layer, without biases: h = relu(W s), logits = P h,
 * value = v h. The network of locally private gradient collection (Ono and Takahashi 2020, arXiv
 * 2001.11718, section 6.1), where every parameter costs noise: 4-16-2 has 112.
 *
 * Parameters lie in one vector: W (hidden x input), P (actions x hidden), v (hidden), each row by
 * row. No privacy here. */
#ifndef TACET_ALGOS_ONLINE_ACTOR_CRITIC_H
#define TACET_ALGOS_ONLINE_ACTOR_CRITIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/policy.h"
#include "envs/env.h"
#include "envs/rng.h"

#define ACTOR_CRITIC_MAX_HIDDEN 1024

struct actor_critic {
    uint32_t input;   /* 1 .. ENV_MAX_STATE_DIM */
    uint32_t hidden;  /* 1 .. ACTOR_CRITIC_MAX_HIDDEN */
    uint32_t actions; /* 2 .. ENV_MAX_ACTIONS */
};

/* Number of parameters. */
size_t actor_critic_count(const struct actor_critic *net);

/* Uniform on +- sqrt(6 / (inputs + outputs)) of each matrix (Glorot and Bengio 2010), from RNG. */
void actor_critic_initialize(const struct actor_critic *net, struct rng *rng, float *parameters);

/* Computes action PROBABILITIES[actions] and *VALUE at STATE[input]. HIDDEN[hidden] is scratch.
 * False: a result is not finite. */
bool actor_critic_forward(const struct actor_critic *net, const float *parameters,
                          const float *state, double *hidden, double *probabilities, double *value);

/* Makes a softmax policy of the actor alone, with biases of zero, for evaluation and download. The
 * caller owns it. */
struct policy *actor_critic_policy(const struct actor_critic *net, const float *parameters);

/* The loss of an episode, a sum over its steps (A3C, Mnih et al. 2016, with the whole episode as
 * the n-step return): -log p(a) (R - V) + value_weight (R - V)^2 - entropy_weight H(p), where R is
 * the discounted return to go, bootstrapped by the value where the episode was cut off or after
 * return_steps rewards, and a constant for the gradient, as is R - V in the first term. */
struct a3c_settings {
    double discount, value_weight, entropy_weight;
    uint32_t return_steps; /* 0: all rewards up to the end */
    bool mean;             /* over the steps, in place of the sum */
};

/* An episode, and memory for one. */
struct a3c_episode {
    uint32_t max_steps, steps;
    bool terminated;
    double score;  /* undiscounted return */
    float *states; /* (max_steps + 1) x input; owned, as are the rest */
    uint16_t *actions;
    double *rewards;
    double *hidden; /* scratch */
};

/* Allocates memory for episodes of NET of at most MAX_STEPS. Free with a3c_episode_clear. */
void a3c_episode_init(struct a3c_episode *episode, const struct actor_critic *net,
                      uint32_t max_steps);

/* Frees the memory; takes an episode that is all zero. */
void a3c_episode_clear(struct a3c_episode *episode);

/* How an agent chooses actions: uniformly with probability EXPLORATION, else the actor's most
 * probable one where GREEDY, else one drawn from the actor. */
struct a3c_choice {
    double exploration;
    bool greedy;
};

/* Plays one episode in ENV (of an opened STATE and that PHYSICS) by CHOICE. The actor is uniform
 * where its outputs are not finite: an episode that stops there would reveal that it came there.
 * False: the world broke. */
bool a3c_play(struct a3c_episode *episode, const struct actor_critic *net, const float *parameters,
              const struct env *env, void *state, const double *physics, struct a3c_choice choice,
              struct rng *rng);

/* Computes GRADIENT[count], the gradient of the episode's loss. False: it is not finite. */
bool a3c_gradient(struct a3c_episode *episode, const struct actor_critic *net,
                  const float *parameters, const struct a3c_settings *settings, double *gradient);

#endif
