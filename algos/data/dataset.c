/* From trajectories in any order to columns grouped by expert. States stay where they arrived, one
 * row after the other, and are found through state_row: the largest column is never moved. The
 * other columns are sorted by expert (counting sort, stable) when the builder finishes. */
#include "algos/data/dataset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "memory/wipe.h"

/* One trajectory as it arrived: where its states and transitions begin. */
struct arrival {
    uint64_t first_state, first_transition;
    uint32_t expert, length;
    bool terminated;
};

struct dataset_builder {
    uint32_t state_dim, action_count, expert_count;
    uint64_t state_count, transition_count, arrival_count;
    uint64_t state_room, transition_room, arrival_room;
    float *states, *rewards;
    uint16_t *actions;
    struct arrival *arrivals;
    bool failed; /* memory was short */
};

struct dataset_builder *dataset_builder_new(uint32_t state_dim, uint32_t action_count,
                                            uint32_t expert_count)
{
    assert(state_dim > 0 && action_count > 0 && action_count <= UINT16_MAX);
    struct dataset_builder *builder = memory_new(1, sizeof *builder);
    builder->state_dim = state_dim;
    builder->action_count = action_count;
    builder->expert_count = expert_count;
    return builder;
}

void dataset_builder_free(struct dataset_builder *builder)
{
    if (!builder)
        return;
    wipe_free(builder->states);
    wipe_free(builder->rewards);
    wipe_free(builder->actions);
    free(builder->arrivals);
    free(builder);
}

/* ARRAY with room for ROOM items of SIZE bytes; NULL on failure, when ARRAY is as it was. */
static void *resize_column(void *array, uint64_t room, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(room, size, &bytes))
        return NULL;
    return wipe_resize(array, bytes > 0 ? bytes : 1);
}

static uint64_t more_room(uint64_t room, uint64_t needed)
{
    uint64_t grown = room + room / 2 + 64;
    return grown > needed ? grown : needed;
}

/* Makes room in *ARRAY, which has *ROOM items of SIZE bytes, for NEEDED of them. */
static bool reserve_column(void *array, uint64_t *room, uint64_t needed, size_t size)
{
    void **column = array;
    if (needed <= *room)
        return true;
    uint64_t more = more_room(*room, needed);
    void *resized = resize_column(*column, more, size);
    if (!resized)
        return false;
    *column = resized;
    *room = more;
    return true;
}

static bool reserve_all(struct dataset_builder *b, uint64_t length)
{
    uint64_t room = b->transition_room, transitions = b->transition_count + length;
    return reserve_column(&b->states, &b->state_room, b->state_count + length + 1,
                          sizeof(float) * b->state_dim) &&
           reserve_column(&b->rewards, &room, transitions, sizeof *b->rewards) &&
           reserve_column(&b->actions, &b->transition_room, transitions, sizeof *b->actions) &&
           reserve_column(&b->arrivals, &b->arrival_room, b->arrival_count + 1,
                          sizeof *b->arrivals);
}

static bool trajectory_fits(const struct dataset_builder *b, const struct trajectory *trajectory)
{
    if (trajectory->expert >= b->expert_count)
        return false;
    for (uint32_t t = 0; t < trajectory->length; t++)
        if (trajectory->actions[t] >= b->action_count)
            return false;
    return true;
}

bool dataset_builder_add(struct dataset_builder *builder, const struct trajectory *trajectory)
{
    uint32_t length = trajectory->length;
    if (!trajectory_fits(builder, trajectory))
        return false;
    builder->failed = builder->failed || !reserve_all(builder, length);
    if (builder->failed)
        return false;
    builder->arrivals[builder->arrival_count++] = (struct arrival){
        .first_state = builder->state_count,
        .first_transition = builder->transition_count,
        .expert = trajectory->expert,
        .length = length,
        .terminated = trajectory->terminated,
    };
    memcpy(builder->states + builder->state_count * builder->state_dim, trajectory->states,
           ((size_t)length + 1) * builder->state_dim * sizeof(float));
    if (length > 0) {
        memcpy(builder->rewards + builder->transition_count, trajectory->rewards,
               length * sizeof(float));
        memcpy(builder->actions + builder->transition_count, trajectory->actions,
               length * sizeof(uint16_t));
    }
    builder->state_count += (uint64_t)length + 1;
    builder->transition_count += length;
    return true;
}

static struct dataset *dataset_allocate(const struct dataset_builder *b)
{
    struct dataset *d = memory_new(1, sizeof *d);
    d->state_dim = b->state_dim;
    d->action_count = b->action_count;
    d->expert_count = b->expert_count;
    d->trajectory_count = b->arrival_count;
    d->transition_count = b->transition_count;
    d->state_row = resize_column(NULL, d->transition_count, sizeof *d->state_row);
    d->actions = resize_column(NULL, d->transition_count, sizeof *d->actions);
    d->rewards = resize_column(NULL, d->transition_count, sizeof *d->rewards);
    d->terminated = resize_column(NULL, d->transition_count, sizeof *d->terminated);
    d->expert_transitions = calloc((size_t)d->expert_count + 1, sizeof *d->expert_transitions);
    if (!d->state_row || !d->actions || !d->rewards || !d->terminated || !d->expert_transitions) {
        dataset_free(d);
        return NULL;
    }
    return d;
}

static void copy_arrival(struct dataset *d, const struct dataset_builder *b,
                         const struct arrival *arrival, uint64_t to)
{
    for (uint32_t t = 0; t < arrival->length; t++) {
        d->state_row[to + t] = arrival->first_state + t;
        d->actions[to + t] = b->actions[arrival->first_transition + t];
        d->rewards[to + t] = b->rewards[arrival->first_transition + t];
        d->terminated[to + t] = arrival->terminated && t + 1 == arrival->length;
    }
}

struct dataset *dataset_builder_finish(struct dataset_builder *builder)
{
    struct dataset *dataset = builder->failed ? NULL : dataset_allocate(builder);
    uint64_t *next = memory_new((size_t)builder->expert_count + 1, sizeof *next);
    if (!dataset)
        goto cleanup;
    uint64_t *bounds = dataset->expert_transitions;
    for (uint64_t i = 0; i < builder->arrival_count; i++)
        bounds[builder->arrivals[i].expert + 1] += builder->arrivals[i].length;
    for (uint32_t e = 0; e < builder->expert_count; e++) {
        bounds[e + 1] += bounds[e];
        next[e] = bounds[e];
    }
    for (uint64_t i = 0; i < builder->arrival_count; i++) {
        const struct arrival *arrival = &builder->arrivals[i];
        copy_arrival(dataset, builder, arrival, next[arrival->expert]);
        next[arrival->expert] += arrival->length;
    }
    /* The slack of growth goes back; when that fails the old block still serves. */
    float *fitted =
        resize_column(builder->states, builder->state_count, sizeof(float) * builder->state_dim);
    dataset->states = fitted ? fitted : builder->states;
    builder->states = NULL;

cleanup:
    free(next);
    dataset_builder_free(builder);
    return dataset;
}

void dataset_free(struct dataset *dataset)
{
    if (!dataset)
        return;
    wipe_free(dataset->states);
    free(dataset->state_row);
    wipe_free(dataset->actions);
    wipe_free(dataset->rewards);
    free(dataset->terminated);
    free(dataset->expert_transitions);
    free(dataset->expert_keys);
    free(dataset);
}

bool dataset_each_trajectory(const struct dataset *dataset,
                             bool (*each)(void *context, const struct trajectory *trajectory),
                             void *context)
{
    const uint64_t *row = dataset->state_row;
    for (uint32_t e = 0; e < dataset->expert_count; e++) {
        uint64_t end = dataset->expert_transitions[e + 1];
        for (uint64_t at = dataset->expert_transitions[e], next; at < end; at = next) {
            for (next = at + 1; next < end && row[next] == row[next - 1] + 1;)
                next++;
            bool terminated = dataset->terminated[next - 1];
            const struct trajectory one = {.expert = e,
                                           .length = (uint32_t)(next - at),
                                           .terminated = terminated,
                                           .truncated = !terminated,
                                           .states = dataset->states + row[at] * dataset->state_dim,
                                           .actions = dataset->actions + at,
                                           .rewards = dataset->rewards + at};
            if (!each(context, &one))
                return false;
        }
    }
    return true;
}
