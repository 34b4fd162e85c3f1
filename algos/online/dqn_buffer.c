/* Playing the buffer full, and keeping its noised observations with a checkpoint:
 *
 *   u64 magic  u64 floats  f32 observations (a word of padding when odd)
 *   u64 checksum of all before   the trainer's own checkpoint
 *
 * Actions, rewards and the places of transitions are not in it: they follow from the seed. */
#include "algos/online/dqn_buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "memory/memory.h"

#define MAGIC UINT64_C(0x31465542514e4454) /* "TDNQBUF1" */

struct filling {
    const struct dqn_buffer_request *request;
    struct dataset_builder *builder;
    void *state;
    float *states;
    uint16_t *actions;
    float *rewards;
    uint32_t length;
    bool terminated;
    uint32_t slots, count; /* what the size counts, so far */
};

static void put_observation(struct filling *f, uint32_t t, const double *observation)
{
    const struct dqn_buffer_request *request = f->request;
    uint32_t dim = request->world->state_dim;
    float *row = f->states + (size_t)t * dim;
    for (uint32_t i = 0; i < dim; i++)
        row[i] = (float)observation[i];
    if (request->bounds)
        observation_hide(request->bounds, request->plan, request->noise, row);
}

/* Plays an episode of uniform actions of at most MOST steps. False: the world broke. */
static bool play_uniformly(struct filling *f, uint64_t episode, uint32_t most)
{
    const struct env *world = f->request->world;
    const double *physics = f->request->physics;
    double observation[ENV_MAX_STATE_DIM];
    struct rng rng;
    rng_seed(&rng, f->request->seed, 1 + episode);
    f->length = 0;
    f->terminated = false;
    if (!world->reset(f->state, physics, &rng, observation))
        return false;
    put_observation(f, 0, observation);
    while (f->length < most && !f->terminated) {
        uint32_t action = rng_below(&rng, world->action_count);
        struct env_outcome outcome = world->step(f->state, physics, action, &rng, observation);
        if (outcome.failed)
            return false;
        f->actions[f->length] = (uint16_t)action;
        f->rewards[f->length++] = (float)outcome.reward;
        f->terminated = outcome.terminated;
        put_observation(f, f->length, observation);
    }
    return true;
}

/* Copies steps FIRST .. FIRST + LENGTH - 1 of the episode into SLOT. */
static void add_slot(struct filling *f, uint32_t slot, uint32_t first, uint32_t length)
{
    bool last = first + length == f->length;
    const struct trajectory part = {.expert = slot,
                                    .length = length,
                                    .terminated = last && f->terminated,
                                    .truncated = !(last && f->terminated),
                                    .states =
                                        f->states + (size_t)first * f->request->world->state_dim,
                                    .actions = f->actions + first,
                                    .rewards = f->rewards + first};
    (void)dataset_builder_add(f->builder, &part);
}

static void add_episode(struct filling *f)
{
    const struct dqn_buffer_request *request = f->request;
    uint32_t before = f->count;
    f->count += request->episodes ? 1 : f->length;
    if (request->unit == DQN_TRANSITION)
        for (uint32_t t = 0; t < f->length; t++)
            add_slot(f, before + t, t, 1);
    else
        add_slot(f, request->unit == DQN_USER ? before : 0, 0, f->length);
}

struct dataset *dqn_buffer_fill(const struct dqn_buffer_request *request, bool *broke)
{
    assert(request->size > 0 && request->steps > 0);
    assert(request->unit == DQN_NOBODY || request->episodes == (request->unit == DQN_USER));
    const struct env *world = request->world;
    uint32_t dim = world->state_dim, slots = request->unit == DQN_NOBODY ? 1 : request->size;
    struct filling f = {.request = request, .slots = slots};
    f.state = env_open(world);
    *broke = false;
    if (!f.state)
        return NULL;
    f.builder = dataset_builder_new(dim, world->action_count, slots);
    f.states = memory_new(((size_t)request->steps + 1) * dim, sizeof *f.states);
    f.actions = memory_new(request->steps, sizeof *f.actions);
    f.rewards = memory_new(request->steps, sizeof *f.rewards);
    for (uint64_t episode = 0; !*broke && f.count < request->size; episode++) {
        uint32_t left = request->size - f.count;
        uint32_t most = request->episodes || left > request->steps ? request->steps : left;
        *broke = !play_uniformly(&f, episode, most);
        if (!*broke)
            add_episode(&f);
    }
    env_close(world, f.state);
    free(f.states);
    free(f.actions);
    free(f.rewards);
    if (!*broke)
        return dataset_builder_finish(f.builder);
    dataset_builder_free(f.builder);
    return NULL;
}

/* ---- keeping */

static size_t floats_of(const struct dataset *data)
{
    return (size_t)(data->transition_count + data->trajectory_count) * data->state_dim;
}

static size_t head_size(size_t floats)
{
    return 2 * sizeof(uint64_t) + checksum_padded(floats * sizeof(float));
}

unsigned char *dqn_buffer_keep(const struct dataset *data, const unsigned char *inner,
                               size_t inner_size, size_t *out_size)
{
    size_t floats = floats_of(data), head = head_size(floats);
    const uint64_t begin[2] = {MAGIC, floats};
    unsigned char *bytes = memory_new(1, head + sizeof(uint64_t) + inner_size);
    memcpy(bytes, begin, sizeof begin);
    memcpy(bytes + sizeof begin, data->states, floats * sizeof(float));
    checksum_seal(bytes, head);
    memcpy(bytes + head + sizeof(uint64_t), inner, inner_size);
    *out_size = head + sizeof(uint64_t) + inner_size;
    return bytes;
}

bool dqn_buffer_restore(struct dataset *data, const unsigned char *bytes, size_t size,
                        const unsigned char **inner, size_t *inner_size)
{
    size_t floats = floats_of(data), head = head_size(floats);
    uint64_t begin[2];
    if (size < head + sizeof(uint64_t))
        return false;
    memcpy(begin, bytes, sizeof begin);
    if (begin[0] != MAGIC || begin[1] != floats || !checksum_holds(bytes, head))
        return false;
    memcpy(data->states, bytes + sizeof begin, floats * sizeof(float));
    *inner = bytes + head + sizeof(uint64_t);
    *inner_size = size - head - sizeof(uint64_t);
    return true;
}
