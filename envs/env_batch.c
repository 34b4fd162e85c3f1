/* Stepping together.
 *
 * DESIGN. The results are arrays of the batch, whatever the world. Worlds without step_lanes are
 * stepped one by one, each in its own STATE. The others keep their states as a structure of arrays
 * padded to whole groups of ENV_LANES; runs of groups in which all are awake are stepped in place,
 * and a group with sleepers in a copy of it, in which a waking neighbour stands in for each of
 * them: so no world ever computes from a state that it has left. */
#include "envs/env_batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

#define ALIGNMENT 64 /* a cache line, and any vector */

/* Either states (one by one) or lanes. */
struct env_batch_worlds {
    void **states;      /* as env_open gives them */
    double *parameters; /* count x ENV_MAX_PARAMETERS */
    struct env_lanes lanes;
};

static size_t groups_of(size_t count)
{
    return (count + ENV_LANES - 1) / ENV_LANES;
}

/* Allocates SIZE zero bytes for each place, rounded up to whole groups. The caller frees the
 * array. */
static void *array_new(uint32_t count, size_t size)
{
    size_t bytes = groups_of(count) * ENV_LANES * size;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return memset(memory_must(aligned_alloc(ALIGNMENT, bytes)), 0, bytes);
}

static unsigned state_numbers(const struct env *env)
{
    assert(env->state_size % sizeof(double) == 0);
    return (unsigned)(env->state_size / sizeof(double));
}

static bool in_lanes(const struct env_batch *batch)
{
    return batch->env->step_lanes != NULL;
}

static bool batch_worlds_open(struct env_batch *batch)
{
    struct env_batch_worlds *worlds = memory_new(1, sizeof *worlds);
    batch->worlds = worlds;
    const struct env *env = batch->env;
    uint32_t count = batch->count;
    worlds->parameters = array_new(count, ENV_MAX_PARAMETERS * sizeof(double));
    if (in_lanes(batch)) {
        assert(!env->open && env->state_size <= ENV_MAX_STATE_DIM * sizeof(double));
        worlds->lanes = (struct env_lanes){
            .state = array_new(count, env->state_size),
            .parameters = worlds->parameters,
            .stride = groups_of(count) * ENV_LANES,
            .observations = batch->observations,
            .rewards = batch->rewards,
            .terminated = array_new(count, sizeof(uint8_t)),
        };
        return true;
    }
    worlds->states = memory_new(count, sizeof *worlds->states);
    for (uint32_t i = 0; i < count; i++) {
        worlds->states[i] = env_open(env);
        if (!worlds->states[i])
            return false;
    }
    return true;
}

struct env_batch *env_batch_new(const struct env *env, uint32_t count, uint32_t step_limit)
{
    assert(count > 0 && count <= ENV_BATCH_MAX);
    struct env_batch *batch = memory_new(1, sizeof *batch);
    batch->env = env;
    batch->count = count;
    batch->step_limit = step_limit > 0 ? step_limit : UINT32_MAX;
    batch->observations = array_new(count, env->state_dim * sizeof(float));
    batch->rewards = array_new(count, sizeof(double));
    batch->returns = array_new(count, sizeof(double));
    batch->steps = array_new(count, sizeof(uint32_t));
    batch->ended = array_new(count, sizeof(uint8_t));
    batch->generators = array_new(count, sizeof(struct rng));
    if (!batch_worlds_open(batch)) {
        env_batch_free(batch);
        return NULL;
    }
    double defaults[ENV_MAX_PARAMETERS];
    env_defaults(env, defaults);
    memset(batch->ended, ENV_UNSTARTED, groups_of(count) * ENV_LANES); /* padding sleeps for ever */
    for (uint32_t i = 0; i < count; i++) {
        env_batch_physics(batch, i, defaults);
        rng_seed(&batch->generators[i], 0, i);
    }
    return batch;
}

void env_batch_free(struct env_batch *batch)
{
    if (!batch)
        return;
    struct env_batch_worlds *worlds = batch->worlds;
    for (uint32_t i = 0; worlds->states && i < batch->count; i++)
        env_close(batch->env, worlds->states[i]);
    free(worlds->states);
    free(worlds->parameters);
    free(worlds->lanes.state);
    free(worlds->lanes.terminated);
    free(worlds);
    free(batch->observations);
    free(batch->rewards);
    free(batch->returns);
    free(batch->steps);
    free(batch->ended);
    free(batch->generators);
    free(batch);
}

void env_batch_physics(struct env_batch *batch, uint32_t i, const double *parameters)
{
    assert(i < batch->count);
    struct env_batch_worlds *worlds = batch->worlds;
    for (unsigned p = 0; p < batch->env->parameter_count; p++)
        if (in_lanes(batch))
            worlds->parameters[p * worlds->lanes.stride + i] = parameters[p];
        else
            worlds->parameters[(size_t)i * ENV_MAX_PARAMETERS + p] = parameters[p];
}

static void instance_begin(struct env_batch *batch, uint32_t i)
{
    batch->rewards[i] = 0.0;
    batch->returns[i] = 0.0;
    batch->steps[i] = 0;
    batch->ended[i] = ENV_RUNNING;
}

static void lanes_put(struct env_batch *batch, uint32_t i, const double *numbers)
{
    const struct env_lanes *lanes = &batch->worlds->lanes;
    for (unsigned k = 0; k < state_numbers(batch->env); k++)
        lanes->state[k * lanes->stride + i] = numbers[k];
}

static void instance_show(struct env_batch *batch, uint32_t i, const double *observation)
{
    unsigned dim = batch->env->state_dim;
    for (unsigned k = 0; k < dim; k++)
        batch->observations[(size_t)i * dim + k] = (float)observation[k];
}

static const double *physics_of(const struct env_batch *batch, uint32_t i, double *space)
{
    const struct env_batch_worlds *worlds = batch->worlds;
    if (!in_lanes(batch))
        return worlds->parameters + (size_t)i * ENV_MAX_PARAMETERS;
    for (unsigned p = 0; p < batch->env->parameter_count; p++)
        space[p] = worlds->parameters[p * worlds->lanes.stride + i];
    return space;
}

bool env_batch_reset(struct env_batch *batch, uint32_t i)
{
    assert(i < batch->count);
    double space[ENV_MAX_PARAMETERS], numbers[ENV_MAX_STATE_DIM], observation[ENV_MAX_STATE_DIM];
    const double *physics = physics_of(batch, i, space);
    void *state = in_lanes(batch) ? numbers : batch->worlds->states[i];
    if (!batch->env->reset(state, physics, &batch->generators[i], observation))
        return false;
    if (in_lanes(batch))
        lanes_put(batch, i, numbers);
    instance_show(batch, i, observation);
    instance_begin(batch, i);
    return true;
}

/* The first sleeping instance at or after FROM, or COUNT. Skips eight waking instances at a
 * time. */
static uint32_t next_asleep(const struct env_batch *batch, uint32_t from)
{
    uint32_t i = from;
    while (i < batch->count && batch->ended[i] == ENV_RUNNING) {
        uint64_t eight;
        i++;
        while (i + sizeof eight <= batch->count) {
            memcpy(&eight, batch->ended + i, sizeof eight);
            if (eight != 0)
                break;
            i += sizeof eight;
        }
    }
    return i;
}

bool env_batch_restart(struct env_batch *batch)
{
    for (uint32_t i = next_asleep(batch, 0); i < batch->count; i = next_asleep(batch, i + 1))
        if (!env_batch_reset(batch, i))
            return false;
    return true;
}

/* Records what one step did to instance I: its reward, return, length and end. */
static void instance_account(struct env_batch *batch, uint32_t i, double reward, bool terminated)
{
    batch->rewards[i] = reward;
    batch->returns[i] += reward;
    batch->steps[i]++;
    if (terminated)
        batch->ended[i] = ENV_TERMINATED;
    else if (batch->steps[i] >= batch->step_limit)
        batch->ended[i] = ENV_TRUNCATED;
}

static bool step_singly(struct env_batch *batch, const uint32_t *actions)
{
    const struct env *env = batch->env;
    double observation[ENV_MAX_STATE_DIM];
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->ended[i] != ENV_RUNNING)
            continue;
        struct env_outcome outcome = env->step(
            batch->worlds->states[i], batch->worlds->parameters + (size_t)i * ENV_MAX_PARAMETERS,
            actions[i], &batch->generators[i], observation);
        if (outcome.failed)
            return false;
        instance_show(batch, i, observation);
        instance_account(batch, i, outcome.reward, outcome.terminated);
    }
    return true;
}

/* Steps GROUPS groups from instance FIRST on. All their instances are awake. */
static void step_awake(struct env_batch *batch, const uint32_t *actions, uint32_t first,
                       uint32_t groups)
{
    struct env_lanes lanes = batch->worlds->lanes;
    lanes.state += first;
    lanes.parameters += first;
    lanes.actions = actions + first;
    lanes.observations += (size_t)first * batch->env->state_dim;
    lanes.rewards += first;
    lanes.terminated += first;
    batch->env->step_lanes(&lanes, groups);
    double *restrict returns = batch->returns + first;
    uint32_t *restrict steps = batch->steps + first;
    uint8_t *restrict ended = batch->ended + first;
    uint32_t limit = batch->step_limit;
    for (uint32_t i = 0; i < groups * ENV_LANES; i++) {
        returns[i] += lanes.rewards[i];
        steps[i]++;
        uint8_t cut = steps[i] >= limit ? ENV_TRUNCATED : ENV_RUNNING;
        ended[i] = lanes.terminated[i] ? ENV_TERMINATED : cut;
    }
}

/* Steps the group from instance FIRST on. Some of its instances sleep, or it reaches beyond
 * COUNT. */
static void step_mixed(struct env_batch *batch, const uint32_t *actions, uint32_t first)
{
    const struct env *env = batch->env;
    const struct env_lanes *all = &batch->worlds->lanes;
    uint32_t stand_in[ENV_LANES], awake = UINT32_MAX;
    for (uint32_t l = 0; l < ENV_LANES; l++)
        awake = batch->ended[first + l] == ENV_RUNNING ? first + l : awake;
    if (awake == UINT32_MAX)
        return;
    for (uint32_t l = 0; l < ENV_LANES; l++)
        stand_in[l] = batch->ended[first + l] == ENV_RUNNING ? first + l : awake;

    _Alignas(ALIGNMENT) double state[ENV_MAX_STATE_DIM * ENV_LANES];
    _Alignas(ALIGNMENT) double parameters[ENV_MAX_PARAMETERS * ENV_LANES];
    _Alignas(ALIGNMENT) double rewards[ENV_LANES];
    _Alignas(ALIGNMENT) float observations[ENV_MAX_STATE_DIM * ENV_LANES];
    _Alignas(ALIGNMENT) uint32_t chosen[ENV_LANES];
    uint8_t terminated[ENV_LANES];
    for (uint32_t l = 0; l < ENV_LANES; l++) {
        chosen[l] = actions[stand_in[l]];
        for (unsigned k = 0; k < state_numbers(env); k++)
            state[k * ENV_LANES + l] = all->state[k * all->stride + stand_in[l]];
        for (unsigned p = 0; p < env->parameter_count; p++)
            parameters[p * ENV_LANES + l] = all->parameters[p * all->stride + stand_in[l]];
    }
    struct env_lanes group = {state,        parameters, ENV_LANES, chosen,
                              observations, rewards,    terminated};
    env->step_lanes(&group, 1);
    for (uint32_t l = 0; l < ENV_LANES; l++) {
        if (stand_in[l] != first + l)
            continue;
        for (unsigned k = 0; k < state_numbers(env); k++)
            all->state[k * all->stride + first + l] = state[k * ENV_LANES + l];
        memcpy(batch->observations + (size_t)(first + l) * env->state_dim,
               observations + (size_t)l * env->state_dim, env->state_dim * sizeof(float));
        instance_account(batch, first + l, rewards[l], terminated[l]);
    }
}

static void batch_step_lanes(struct env_batch *batch, const uint32_t *actions)
{
    uint32_t whole = batch->count / ENV_LANES * ENV_LANES;
    for (uint32_t first = 0; first < batch->count;) {
        uint32_t awake = (next_asleep(batch, first) - first) / ENV_LANES * ENV_LANES;
        awake = awake < whole - first ? awake : whole - first;
        if (awake > 0)
            step_awake(batch, actions, first, awake / ENV_LANES);
        first += awake;
        if (first < batch->count)
            step_mixed(batch, actions, first);
        first += ENV_LANES;
    }
}

bool env_batch_step(struct env_batch *batch, const uint32_t *actions)
{
    if (!in_lanes(batch))
        return step_singly(batch, actions);
    batch_step_lanes(batch, actions);
    return true;
}
