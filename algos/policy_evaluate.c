/* A policy's return in a world.
 *
 * DESIGN. Up to WORLDS episodes are played side by side, so that the network is asked once a step
 * for all of them; where one ends, the next episode takes its place. Nothing shows of that in the
 * result: every episode has a generator of its own, the network's bits do not depend on who asks
 * beside (batch_forward), and returns are averaged in the order of the episodes. Worlds that
 * hold resources, which may be whole processes, are opened once and play one episode at a time. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/batch.h"
#include "algos/policy.h"
#include "envs/env_batch.h"
#include "memory/memory.h"

#define WORLDS 128

struct evaluation {
    const struct policy *policy;
    struct env_batch *worlds;
    struct batch *network;
    uint64_t seed;
    uint32_t episodes, begun;
    double *returns; /* of each episode */
    uint32_t episode[WORLDS];
    uint32_t awake[WORLDS], awake_count; /* worlds in play, in any order */
    uint32_t actions[WORLDS];
    bool not_finite; /* the network gave what is no number */
};

/* Starts the next episode in world W. False: the world cannot be reset. */
static bool begin_episode(struct evaluation *e, uint32_t w)
{
    e->episode[w] = e->begun++;
    rng_seed(&e->worlds->generators[w], e->seed, e->episode[w]);
    return env_batch_reset(e->worlds, w);
}

/* Chooses the best action for each world in play. */
static bool choose_best(struct evaluation *e)
{
    const struct mlp_shape *shape = &e->policy->shape;
    uint32_t dim = shape->input, count = shape->width[shape->layer_count - 1];
    float *input = batch_input(e->network);
    for (uint32_t i = 0; i < e->awake_count; i++)
        memcpy(input + (size_t)i * dim, e->worlds->observations + (size_t)e->awake[i] * dim,
               dim * sizeof *input);
    const float *outputs = batch_forward(e->network, e->policy->parameters, e->awake_count);
    for (uint32_t i = 0; i < e->awake_count; i++) {
        int action = policy_choose(e->policy, outputs + (size_t)i * count);
        if (action < 0)
            return false;
        e->actions[e->awake[i]] = (uint32_t)action;
    }
    return true;
}

/* Draws an action from the policy's probabilities for each world in play. */
static bool draw_actions(struct evaluation *e)
{
    uint32_t dim = e->worlds->env->state_dim, count = e->worlds->env->action_count;
    for (uint32_t i = 0; i < e->awake_count; i++) {
        uint32_t w = e->awake[i], action = 0;
        double probabilities[ENV_MAX_ACTIONS] = {0};
        const float *state = e->worlds->observations + (size_t)w * dim;
        if (!policy_probabilities(e->policy, state, 1.0, probabilities))
            return false;
        double u = rng_uniform(&e->worlds->generators[w]);
        while (action + 1 < count && u >= probabilities[action])
            u -= probabilities[action++];
        e->actions[w] = action;
    }
    return true;
}

/* Records the episodes that have ended and starts the next waiting episodes in their worlds. False:
 * a world cannot be reset. */
static bool turn_over(struct evaluation *e)
{
    uint32_t still = 0;
    for (uint32_t i = 0; i < e->awake_count; i++) {
        uint32_t w = e->awake[i];
        bool stays = e->worlds->ended[w] == ENV_RUNNING;
        if (!stays) {
            e->returns[e->episode[w]] = e->worlds->returns[w];
            stays = e->begun < e->episodes;
            if (stays && !begin_episode(e, w))
                return false;
        }
        if (stays)
            e->awake[still++] = w;
    }
    e->awake_count = still;
    return true;
}

static bool play_all(struct evaluation *e)
{
    for (uint32_t w = 0; w < e->worlds->count; w++) {
        if (!begin_episode(e, w))
            return false;
        e->awake[e->awake_count++] = w;
    }
    while (e->awake_count > 0) {
        e->not_finite = !(e->policy->output == POLICY_SOFTMAX ? draw_actions(e) : choose_best(e));
        if (e->not_finite || !env_batch_step(e->worlds, e->actions) || !turn_over(e))
            return false;
    }
    return true;
}

/* Welford's running mean and sum of squares. */
static struct policy_evaluation summarize_returns(const double *returns, uint32_t episodes)
{
    double mean = 0.0, squares = 0.0;
    for (uint32_t e = 0; e < episodes; e++) {
        double difference = returns[e] - mean;
        mean += difference / (e + 1.0);
        squares += difference * (returns[e] - mean);
    }
    return (struct policy_evaluation){
        .mean_return = mean,
        .std_return = episodes > 1 ? sqrt(squares / (episodes - 1.0)) : 0.0,
        .episodes = episodes,
    };
}

bool policy_evaluate(const struct policy *policy, const struct env *env, const double *parameters,
                     uint32_t episodes, uint32_t max_steps, uint64_t seed,
                     struct policy_evaluation *out)
{
    const struct mlp_shape *shape = &policy->shape;
    *out = (struct policy_evaluation){.not_finite = false};
    if (episodes == 0 || max_steps == 0 || shape->input != env->state_dim ||
        policy_action_count(policy) != env->action_count)
        return false;
    uint32_t count = episodes < WORLDS ? episodes : WORLDS;
    if (env->open)
        count = 1;
    struct evaluation e = {.policy = policy, .seed = seed, .episodes = episodes};
    e.worlds = env_batch_new(env, count, max_steps);
    e.network = batch_new(shape, count);
    e.returns = memory_new(episodes, sizeof *e.returns);
    bool played = e.worlds && e.network;
    for (uint32_t w = 0; played && w < count; w++)
        env_batch_physics(e.worlds, w, parameters);
    played = played && play_all(&e);
    *out = played ? summarize_returns(e.returns, episodes)
                  : (struct policy_evaluation){.not_finite = e.not_finite, .broken = !e.not_finite};
    free(e.returns);
    batch_free(e.network);
    env_batch_free(e.worlds);
    return played;
}
