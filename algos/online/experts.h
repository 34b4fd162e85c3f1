/* A population of experts who disagree: the data of expert-level privacy. After Sharma et al. 2025
 * (arXiv 2411.13598, appendix B.1): each is trained by PPO in a world whose physics differ a
 * little, and plays in the usual one, so that few of them are good and no two alike.
 *
 * A setting is one point of the grid of physics. One training run per setting gives
 * EXPERTS_PER_SETTING experts, the best that it has seen; how far it may go is drawn, so that
 * settings differ. Every run is a function of (seed, setting) and every trajectory of (seed,
 * expert): order and threads do not matter. */
#ifndef TACET_ALGOS_ONLINE_EXPERTS_H
#define TACET_ALGOS_ONLINE_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/data/trajectory.h"
#include "algos/policy.h"
#include "envs/env.h"

#define EXPERTS_PER_SETTING    3
#define EXPERTS_MAX_VARIATIONS 4

/* One physical constant on POINTS equally spaced values, both ends included. */
struct expert_variation {
    const char *parameter;
    double low, high;
    uint32_t points;
};

struct expert_population; /* population.h */

/* The population of a world, or NULL. */
const struct expert_population *experts_find(const struct env *env);

/* The number of steps after which an episode of these experts is truncated by default. */
uint32_t experts_episode_steps(const struct expert_population *population);

/* Fills parameters[ENV_MAX_PARAMETERS] with the physics of SETTING. Settings 0, 1, ... walk through
 * the whole grid in an order that SEED shuffles, then through it again. */
void experts_physics(const struct expert_population *population, uint64_t seed, uint64_t setting,
                     double *parameters);

/* Which moments of a run become experts. */
enum experts_select {
    EXPERTS_TOP,    /* the three best; the run ends at a skill that is drawn for the setting */
    EXPERTS_MOMENTS /* an early, a middle and the best moment of a run of full length */
};

/* Called with every policy that a run measures, in order. POLICY is borrowed; MEASURED is its mean
 * return in the world that it is trained in. */
struct experts_observer {
    void (*saw)(void *context, const struct policy *policy, double measured);
    void *context;
};

/* Trains the experts EXPERTS_PER_SETTING * SETTING + {0, 1, 2}, worst first. OBSERVER may be NULL.
 * Each *out is the caller's (policy_free), of output POLICY_ARGMAX. False, with nothing given: the
 * world broke, or the run diverged before there were three. */
bool experts_train(const struct expert_population *population, enum experts_select select,
                   uint64_t seed, uint64_t setting, const struct experts_observer *observer,
                   struct policy *out[EXPERTS_PER_SETTING]);

/* Memory for one episode of at most MAX_STEPS steps, reused for each episode. */
struct expert_episode {
    const struct env *env;
    uint32_t max_steps;
    void *world;   /* owned, as are the rest */
    float *states; /* (max_steps + 1) x state_dim */
    uint16_t *actions;
    float *rewards;
    struct trajectory trajectory; /* the last episode, as views into these arrays */
};

#define EXPERTS_MAX_STEPS 1000000

/* Allocates memory for episodes in ENV of at most MAX_STEPS, 1 .. EXPERTS_MAX_STEPS. Free with
 * expert_episode_clear. */
void expert_episode_init(struct expert_episode *episode, const struct env *env, uint32_t max_steps);

/* Frees the memory; takes an episode that is all zero. */
void expert_episode_clear(struct expert_episode *episode);

/* Plays one episode in the usual world: the policy's best action with probability 1 - (|A| - 1)
 * MIN_PROBABILITY, every other with MIN_PROBABILITY (0 .. 1 / |A|). The policy sees what is
 * recorded, float32. Terminated and truncated may both be true. The trajectory is in EPISODE.
 * False: an output of the network is not finite, or the world broke. */
bool expert_play(struct expert_episode *episode, const struct policy *policy,
                 double min_probability, struct rng *rng);

/* Seeds the generator of EXPERT's trajectories. */
void expert_rng(struct rng *rng, uint64_t seed, uint64_t expert);

#endif
