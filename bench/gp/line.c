/* The world, and logged data of two populations. */
#include "bench/gp/line.h"

#include <math.h>
#include <stdlib.h>

#include "envs/env_batch.h"

double line_step(double *state, uint32_t action, struct rng *rng)
{
    double move = 0.25 * rng_uniform(rng);
    *state = fmin(fmax(*state + (action == 0 ? move : -move), 0.0), 1.0);
    return 0.5 - fabs(*state - 0.5);
}

double line_return(unsigned episodes, uint32_t (*choose)(const void *context, double state),
                   const void *context, struct rng *rng)
{
    double sum = 0.0;
    for (unsigned e = 0; e < episodes; e++) {
        double state = rng_uniform(rng);
        for (int t = 0; t < LINE_STEPS; t++)
            sum += line_step(&state, choose(context, state), rng);
    }
    return sum / episodes;
}

static bool reset(void *state, const double *parameters, struct rng *rng, double *observation)
{
    (void)parameters;
    *(double *)state = *observation = rng_uniform(rng);
    return true;
}

static struct env_outcome step(void *state, const double *parameters, unsigned action,
                               struct rng *rng, double *observation)
{
    (void)parameters;
    double reward = line_step(state, action, rng);
    *observation = *(double *)state;
    return (struct env_outcome){.reward = reward};
}

const struct env line_world = {.name = "line",
                               .state_dim = 1,
                               .action_count = 2,
                               .max_episode_steps = LINE_STEPS,
                               .random_return = 10.8,
                               .state_size = sizeof(double),
                               .reset = reset,
                               .step = step};

/* ---- logged data */

typedef uint32_t choose(const double *about, const float *state, struct rng *rng);

static uint32_t at_random(const double *about, const float *state, struct rng *rng)
{
    (void)about;
    (void)state;
    return rng_below(rng, 2);
}

static uint32_t balance(const double *about, const float *state, struct rng *rng)
{
    double lean = (double)state[2] + about[0] * (double)state[3] + about[1] * (double)state[1];
    return rng_uniform(rng) < 0.2 ? rng_below(rng, 2) : lean > 0.0;
}

#define MOST_STEPS 100

static bool add_expert(struct dataset_builder *builder, struct env_batch *world, uint32_t expert,
                       choose *act, double shift, struct rng *rng)
{
    uint32_t n = world->env->state_dim, t = 0;
    float states[(MOST_STEPS + 1) * 4] = {0}, rewards[MOST_STEPS];
    uint16_t actions[MOST_STEPS];
    const double about[2] = {0.2 + 0.6 * rng_uniform(rng), 0.1 * rng_uniform(rng)};
    bool good = env_batch_reset(world, 0);
    for (uint32_t i = 0; i < n; i++)
        states[i] = world->observations[i];
    while (good && world->ended[0] == ENV_RUNNING) {
        uint32_t action = act(about, states + (size_t)t * n, rng);
        good = env_batch_step(world, &action);
        actions[t] = (uint16_t)action;
        rewards[t++] = (float)(world->rewards[0] - shift);
        for (uint32_t i = 0; i < n; i++)
            states[(size_t)t * n + i] = world->observations[i];
    }
    const struct trajectory one = {.expert = expert,
                                   .length = t,
                                   .terminated = world->ended[0] == ENV_TERMINATED,
                                   .truncated = world->ended[0] != ENV_TERMINATED,
                                   .states = states,
                                   .actions = actions,
                                   .rewards = rewards};
    return good && dataset_builder_add(builder, &one);
}

static struct dataset *population(const struct env *env, uint32_t steps, choose *act,
                                  uint32_t experts, double shift, uint64_t seed)
{
    struct dataset_builder *builder = dataset_builder_new(env->state_dim, 2, experts);
    struct env_batch *world = env_batch_new(env, 1, steps);
    struct rng rng;
    bool good = builder && world;
    rng_seed(&rng, seed, 1);
    if (good)
        rng_seed(&world->generators[0], seed, 2);
    for (uint32_t e = 0; good && e < experts; e++)
        good = add_expert(builder, world, e, act, shift, &rng);
    env_batch_free(world);
    if (!good) {
        dataset_builder_free(builder);
        return NULL;
    }
    struct dataset *data = dataset_builder_finish(builder);
    if (!data)
        return NULL;
    data->expert_keys = calloc((size_t)experts + 1, sizeof *data->expert_keys);
    for (uint32_t e = 0; data->expert_keys && e < experts; e++)
        data->expert_keys[e] = rng_next(&rng);
    return data;
}

struct dataset *line_experts(uint32_t experts, double shift, uint64_t seed)
{
    return population(&line_world, LINE_STEPS, at_random, experts, shift, seed);
}

struct dataset *pole_experts(uint32_t experts, uint64_t seed)
{
    return population(env_find("cartpole"), MOST_STEPS, balance, experts, 0.0, seed);
}
