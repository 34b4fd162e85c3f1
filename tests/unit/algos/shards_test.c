/* Shards: an expert is in one shard whatever its place, moves no other shard's policy, and a
 * training that was interrupted gives what an uninterrupted one gives. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/shards.h"
#include "tests/unit/algos/offline_kit.h"

enum { SHARDS = 11, EXPERTS = 20, FLOATS = 6 * (KIT_DIM + 1) + KIT_ACTIONS * 7 };

struct taken {
    float weights[SHARDS][FLOATS];
    uint32_t has[SHARDS];
    uint32_t count;
};

static void take(void *context, uint32_t shard, const struct policy *policy,
                 const struct dataset *data)
{
    (void)data;
    struct taken *taken = context;
    cr_assert_eq(shard, taken->count);
    taken->count++;
    taken->has[shard] = policy != NULL;
    if (policy != NULL) {
        cr_assert_eq(mlp_parameter_count(&policy->shape), FLOATS);
        memcpy(taken->weights[shard], policy->parameters, sizeof taken->weights[shard]);
    }
}

static struct dataset *data_of(uint32_t experts)
{
    struct dataset *data = kit_data(experts, 5);
    data->expert_keys = calloc(experts, sizeof *data->expert_keys);
    for (uint32_t e = 0; e < experts; e++)
        data->expert_keys[e] = UINT64_C(0x123456789) * (e + 7);
    return data;
}

static struct shards shards_of(struct taken *taken)
{
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_NONE, EXPERTS);
    kit_set(&kit, "steps", 60);
    *taken = (struct taken){.count = 0};
    return (struct shards){.algorithm = kit.algorithm,
                           .request = kit.request,
                           .count = SHARDS,
                           .take = take,
                           .context = taken,
                           .kept = taken,
                           .kept_size = sizeof *taken};
}

static void train(const struct shards *shards, const struct dataset *data)
{
    const char *message = NULL;
    const struct algorithm_run run = {.data = data};
    cr_assert_eq(shards_train(shards, &run, &message), ALGORITHM_OK, "%s", message);
    cr_assert_eq(((struct taken *)shards->context)->count, SHARDS);
}

Test(shards, a_place_is_a_function_of_key_and_seed_and_all_are_used)
{
    uint32_t counts[SHARDS] = {0}, moved = 0;
    for (uint64_t key = 0; key < 11000; key++) {
        uint32_t place = shards_place(key, 3, SHARDS);
        cr_assert_lt(place, SHARDS);
        counts[place]++;
        moved += place != shards_place(key, 4, SHARDS);
    }
    for (int i = 0; i < SHARDS; i++) /* 1000 expected, deviation 30: six of them */
        cr_expect(counts[i] > 820 && counts[i] < 1180, "%u", counts[i]);
    cr_expect_gt(moved, 9000);
}

Test(shards, an_expert_moves_its_own_shard_alone)
{
    static struct taken all, fewer;
    struct dataset *data = data_of(EXPERTS);
    struct shards shards = shards_of(&all);
    train(&shards, data);
    /* Expert 4 leaves, and those behind it move up. */
    uint32_t gone = shards_place(data->expert_keys[4], shards.request.seed, SHARDS);
    uint64_t first = data->expert_transitions[4];
    size_t later = (size_t)(data->transition_count - first - KIT_LENGTH);
    memmove(data->state_row + first, data->state_row + first + KIT_LENGTH, later * 8);
    memmove(data->actions + first, data->actions + first + KIT_LENGTH, later * 2);
    memmove(data->rewards + first, data->rewards + first + KIT_LENGTH, later * 4);
    memmove(data->terminated + first, data->terminated + first + KIT_LENGTH, later);
    memmove(data->expert_keys + 4, data->expert_keys + 5, (EXPERTS - 5) * 8);
    data->expert_count--;
    data->transition_count -= KIT_LENGTH;
    data->trajectory_count--;
    shards = shards_of(&fewer);
    train(&shards, data);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < SHARDS; i++) {
        filled += all.has[i];
        bool same = all.has[i] == fewer.has[i] &&
                    memcmp(all.weights[i], fewer.weights[i], sizeof all.weights[i]) == 0;
        cr_expect_eq(same, i != gone, "shard %u", i);
    }
    cr_expect_gt(filled, 5);
    cr_expect_lt(filled, SHARDS); /* this split leaves some empty: they count as nothing */
    dataset_free(data);
}

/* A choice would be one among policies without noise, and has no world to look at. */
Test(shards, no_shard_is_chosen_by_play)
{
    static struct taken plain, asked;
    struct dataset *data = data_of(EXPERTS);
    struct shards shards = shards_of(&plain);
    train(&shards, data);
    shards = shards_of(&asked);
    shards.request.choice = (struct choice){.candidates = 3, .episodes = 2, .max_steps = 9};
    train(&shards, data);
    cr_expect_eq(memcmp(plain.weights, asked.weights, sizeof plain.weights), 0);
    dataset_free(data);
}

/* Stops at every pulse until it has a checkpoint of whole shards. */
struct stopping {
    unsigned char *bytes;
    size_t size;
    uint64_t last;
    int pulses;
};

static enum algorithm_pulse stop_later(void *context, uint64_t steps)
{
    struct stopping *s = context;
    cr_expect_geq(steps, s->last);
    s->last = steps;
    return s->pulses++ == 1 ? PULSE_SAVE_AND_PAUSE : PULSE_CONTINUE;
}

static bool keep(void *context, uint64_t steps, const unsigned char *bytes, size_t size)
{
    struct stopping *s = context;
    (void)steps;
    s->bytes = realloc(s->bytes, size);
    memcpy(s->bytes, bytes, size);
    s->size = size;
    return true;
}

Test(shards, an_interrupted_training_goes_on_where_it_was)
{
    static struct taken whole, parts;
    struct dataset *data = data_of(EXPERTS);
    struct shards shards = shards_of(&whole);
    train(&shards, data);
    shards = shards_of(&parts);
    struct stopping s = {.bytes = NULL};
    const char *message = NULL;
    struct algorithm_run run = {.data = data,
                                .hooks = {.context = &s, .pulse = stop_later, .save = keep}};
    cr_assert_eq(shards_train(&shards, &run, &message), ALGORITHM_PAUSED);
    cr_assert_gt(s.size, 0);
    cr_expect(parts.count > 0 && parts.count < SHARDS);
    memset(&parts, 99, sizeof parts); /* what was in memory is lost */
    run.checkpoint = s.bytes;
    run.checkpoint_size = s.size;
    run.hooks = (struct algorithm_hooks){.context = NULL};
    cr_assert_eq(shards_train(&shards, &run, &message), ALGORITHM_OK);
    cr_expect_eq(memcmp(&whole, &parts, sizeof whole), 0);
    s.bytes[s.size / 2] ^= 1;
    cr_expect_eq(shards_train(&shards, &run, &message), ALGORITHM_BAD_CHECKPOINT);
    free(s.bytes);
    dataset_free(data);
}

static enum algorithm_pulse cancel(void *context, uint64_t steps)
{
    (void)context;
    (void)steps;
    return PULSE_CANCEL;
}

Test(shards, bad_settings_and_cancelling_end_in_words)
{
    static struct taken taken;
    struct dataset *data = data_of(EXPERTS);
    struct shards shards = shards_of(&taken);
    const char *message = NULL;
    const struct algorithm_run run = {.data = data, .hooks = {.pulse = cancel}};
    cr_expect_eq(shards_train(&shards, &run, &message), ALGORITHM_CANCELLED);
    uint64_t steps = 0;
    struct mlp_shape shape;
    cr_expect_eq(shards_plan(&shards, &steps, &shape, &message), ALGORITHM_OK);
    cr_expect_eq(steps, 60 * SHARDS);
    shards.request.action_count = 0;
    cr_expect_eq(shards_train(&shards, &run, &message), ALGORITHM_BAD_INPUT);
    cr_expect_gt(strlen(message), 0);
    dataset_free(data);
}
