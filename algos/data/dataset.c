/* From trajectories in any order to columns grouped by expert. States stay where they arrived, one
 * row after the other, and are found through state_row: the largest column is never moved. The
 * other columns are sorted by expert (counting sort, stable) when the builder finishes. */
#include "algos/data/dataset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

/* One trajectory as it arrived: where its states and transitions begin. */
struct arrival {
    uint64_t first_state, first_transition;
    uint32_t expert, length;
    bool terminated;
};

struct dataset_builder {
    uint32_t state_dim, action_count, expert_count;
    uint64_t state_count, transition_count, arrival_count;
    const char *directory; /* NULL: in memory */
    struct data_column states, rewards, actions, arrivals;
    bool failed; /* memory or the disk's room was short */
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

void dataset_builder_use_files(struct dataset_builder *builder, const char *directory)
{
    assert(builder->arrival_count == 0);
    const struct data_column empty = {.directory = directory};
    builder->directory = directory;
    builder->states = builder->rewards = builder->actions = builder->arrivals = empty;
}

struct dataset_builder *dataset_builder_beside(const struct dataset *data)
{
    struct dataset_builder *builder =
        dataset_builder_new(data->state_dim, data->action_count, data->expert_count);
    const char *directory = data->columns[DATASET_STATES].directory;
    dataset_builder_use_files(builder, directory);
    if (directory)
        (void)dataset_builder_reserve(builder, data->transition_count, data->trajectory_count);
    return builder;
}

void dataset_builder_free(struct dataset_builder *builder)
{
    if (!builder)
        return;
    data_column_free(&builder->states);
    data_column_free(&builder->rewards);
    data_column_free(&builder->actions);
    data_column_free(&builder->arrivals);
    free(builder);
}

/* Gives COLUMN exactly COUNT items of SIZE bytes. */
static bool resize_column(struct data_column *column, uint64_t count, size_t size)
{
    size_t bytes;
    return !__builtin_mul_overflow(count, size, &bytes) && data_column_resize(column, bytes);
}

/* Makes room in COLUMN for NEEDED items of SIZE bytes. */
static bool reserve_column(struct data_column *column, uint64_t needed, size_t size)
{
    uint64_t room = column->size / size;
    if (needed <= room)
        return true;
    uint64_t grown = room + room / 2 + 64;
    return resize_column(column, grown > needed ? grown : needed, size);
}

static bool reserve_all(struct dataset_builder *b, uint64_t states, uint64_t transitions,
                        uint64_t arrivals)
{
    return reserve_column(&b->states, states, sizeof(float) * b->state_dim) &&
           reserve_column(&b->rewards, transitions, sizeof(float)) &&
           reserve_column(&b->actions, transitions, sizeof(uint16_t)) &&
           reserve_column(&b->arrivals, arrivals, sizeof(struct arrival));
}

bool dataset_builder_reserve(struct dataset_builder *builder, uint64_t transitions,
                             uint64_t trajectories)
{
    uint64_t states;
    builder->failed = builder->failed ||
                      __builtin_add_overflow(transitions, trajectories, &states) ||
                      !reserve_all(builder, states, transitions, trajectories);
    return !builder->failed;
}

uint64_t dataset_bytes(uint32_t state_dim, uint64_t transitions, uint64_t trajectories)
{
    const size_t both = sizeof(float) + sizeof(uint16_t); /* as they came, and sorted */
    uint64_t row = sizeof(float) * state_dim, each = 2 * both + sizeof(uint64_t) + sizeof(uint8_t);
    uint64_t of_transitions, of_trajectories, sum;
    if (__builtin_mul_overflow(transitions, row + each, &of_transitions) ||
        __builtin_mul_overflow(trajectories, row + sizeof(struct arrival), &of_trajectories) ||
        __builtin_add_overflow(of_transitions, of_trajectories, &sum))
        return UINT64_MAX;
    return sum;
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

/* Where item I of SIZE bytes lies. */
static void *column_at(const struct data_column *column, uint64_t i, size_t size)
{
    return (char *)column->items + i * size;
}

bool dataset_builder_add(struct dataset_builder *builder, const struct trajectory *trajectory)
{
    uint32_t length = trajectory->length;
    size_t row = sizeof(float) * builder->state_dim;
    uint64_t first_state = builder->state_count, first = builder->transition_count;
    if (!trajectory_fits(builder, trajectory))
        return false;
    builder->failed = builder->failed || !reserve_all(builder, first_state + length + 1,
                                                      first + length, builder->arrival_count + 1);
    if (builder->failed)
        return false;
    struct arrival *arrivals = builder->arrivals.items;
    arrivals[builder->arrival_count++] = (struct arrival){
        .first_state = first_state,
        .first_transition = first,
        .expert = trajectory->expert,
        .length = length,
        .terminated = trajectory->terminated,
    };
    memcpy(column_at(&builder->states, first_state, row), trajectory->states,
           ((size_t)length + 1) * row);
    if (length > 0) {
        memcpy(column_at(&builder->rewards, first, sizeof(float)), trajectory->rewards,
               length * sizeof(float));
        memcpy(column_at(&builder->actions, first, sizeof(uint16_t)), trajectory->actions,
               length * sizeof(uint16_t));
    }
    builder->state_count += (uint64_t)length + 1;
    builder->transition_count += length;
    return true;
}

/* Moves the states from B to the dataset; the slack of growth goes back, and where that fails, it
 * stays. */
static void take_states(struct dataset *d, struct dataset_builder *b)
{
    struct data_column *states = &d->columns[DATASET_STATES];
    *states = b->states;
    b->states = (struct data_column){0};
    (void)resize_column(states, b->state_count, sizeof(float) * b->state_dim);
    d->states = states->items;
}

static struct dataset *dataset_allocate(const struct dataset_builder *b)
{
    static const size_t sizes[DATASET_COLUMNS] = {[DATASET_STATE_ROW] = sizeof(uint64_t),
                                                  [DATASET_ACTIONS] = sizeof(uint16_t),
                                                  [DATASET_REWARDS] = sizeof(float),
                                                  [DATASET_TERMINATED] = sizeof(uint8_t)};
    struct dataset *d = memory_new(1, sizeof *d);
    bool good = true;
    d->state_dim = b->state_dim;
    d->action_count = b->action_count;
    d->expert_count = b->expert_count;
    d->trajectory_count = b->arrival_count;
    d->transition_count = b->transition_count;
    d->expert_transitions = memory_new((size_t)d->expert_count + 1, sizeof *d->expert_transitions);
    for (int i = DATASET_STATE_ROW; good && i < DATASET_COLUMNS; i++) {
        d->columns[i].directory = b->directory;
        good = resize_column(&d->columns[i], d->transition_count, sizes[i]);
    }
    if (!good) {
        dataset_free(d);
        return NULL;
    }
    d->state_row = d->columns[DATASET_STATE_ROW].items;
    d->actions = d->columns[DATASET_ACTIONS].items;
    d->rewards = d->columns[DATASET_REWARDS].items;
    d->terminated = d->columns[DATASET_TERMINATED].items;
    return d;
}

static void copy_arrival(struct dataset *d, const struct dataset_builder *b,
                         const struct arrival *arrival, uint64_t to)
{
    const uint16_t *actions = b->actions.items;
    const float *rewards = b->rewards.items;
    for (uint32_t t = 0; t < arrival->length; t++) {
        d->state_row[to + t] = arrival->first_state + t;
        d->actions[to + t] = actions[arrival->first_transition + t];
        d->rewards[to + t] = rewards[arrival->first_transition + t];
        d->terminated[to + t] = arrival->terminated && t + 1 == arrival->length;
    }
}

static bool columns_store(const struct dataset *dataset)
{
    bool good = true;
    for (int i = 0; good && i < DATASET_COLUMNS; i++)
        good = data_column_store(&dataset->columns[i]);
    return good;
}

struct dataset *dataset_builder_finish(struct dataset_builder *builder)
{
    struct dataset *dataset = builder->failed ? NULL : dataset_allocate(builder);
    uint64_t *next = memory_new((size_t)builder->expert_count + 1, sizeof *next);
    if (!dataset)
        goto cleanup;
    uint64_t *bounds = dataset->expert_transitions;
    const struct arrival *arrivals = builder->arrivals.items;
    for (uint64_t i = 0; i < builder->arrival_count; i++)
        bounds[arrivals[i].expert + 1] += arrivals[i].length;
    for (uint32_t e = 0; e < builder->expert_count; e++) {
        bounds[e + 1] += bounds[e];
        next[e] = bounds[e];
    }
    for (uint64_t i = 0; i < builder->arrival_count; i++) {
        const struct arrival *arrival = &arrivals[i];
        copy_arrival(dataset, builder, arrival, next[arrival->expert]);
        next[arrival->expert] += arrival->length;
    }
    take_states(dataset, builder);
    if (!columns_store(dataset)) {
        dataset_free(dataset);
        dataset = NULL;
    }

cleanup:
    free(next);
    dataset_builder_free(builder);
    return dataset;
}

void dataset_free(struct dataset *dataset)
{
    if (!dataset)
        return;
    for (int i = 0; i < DATASET_COLUMNS; i++)
        data_column_free(&dataset->columns[i]);
    free(dataset->expert_transitions);
    free(dataset->expert_keys);
    free(dataset);
}

bool dataset_starts_trajectory(const struct dataset *dataset, uint64_t transition)
{
    const uint64_t *row = dataset->state_row;
    return transition == 0 || row[transition] != row[transition - 1] + 1;
}

bool dataset_each_trajectory(const struct dataset *dataset,
                             bool (*each)(void *context, const struct trajectory *trajectory),
                             void *context)
{
    const uint64_t *row = dataset->state_row;
    for (uint32_t e = 0; e < dataset->expert_count; e++) {
        uint64_t end = dataset->expert_transitions[e + 1];
        for (uint64_t at = dataset->expert_transitions[e], next; at < end; at = next) {
            for (next = at + 1; next < end && !dataset_starts_trajectory(dataset, next);)
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
