/* Targets that are kept between copies are those that would be computed anew, to the bit. */
#include "algos/offline/target_cache.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"
#include "algos/privacy/noise/noise_source.h"
#include "tests/unit/algos/offline_kit.h"

enum { EXPERTS = 40 };

/* Deep Q-learning, double where the trainer is told so, with the squared error, and nothing more.
 */
static void errors(const void *context, const struct trainer_rows *rows)
{
    (void)context;
    for (uint32_t i = 0; i < rows->count; i++) {
        size_t row = (size_t)i * KIT_ACTIONS;
        const float *judge = rows->online_next ? rows->online_next : rows->target_next;
        float y = rows->rewards[i];
        if (!rows->terminated[i])
            y += 0.9F * rows->target_next[row + policy_best_action(judge + row, KIT_ACTIONS)];
        memset(rows->error + row, 0, KIT_ACTIONS * sizeof(float));
        rows->error[row + rows->actions[i]] = rows->online[row + rows->actions[i]] - y;
    }
}

static struct trainer_settings settings_of(const struct kit *kit)
{
    return (struct trainer_settings){
        .rule = {.shape = kit->plan.shape, .target_outputs = KIT_ACTIONS, .errors = errors},
        .optimizer = {.kind = OPTIMIZER_ADAM, .momentum = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        .learning_rate = 0.01,
        .target_update_interval = 150,
        .reward_scale = 1.0,
        .input_scale = PARAMETER_ONE(1.5),
        .full_weight_transitions = 1,
        .transitions_per_expert = 1,
        .batch_size = 4};
}

static float *run(const struct kit *kit, const struct trainer_settings *settings,
                  const struct dataset *data)
{
    const uint8_t key[32] = {7};
    struct noise_source *noise = noise_source_new_injected(key);
    const struct algorithm_run job = {
        .request = &kit->request, .plan = &kit->plan, .data = data, .noise = noise};
    float *parameters = NULL;
    const char *message = NULL;
    cr_assert_eq(trainer_run(&job, settings, &parameters, &message), ALGORITHM_OK, "%s", message);
    noise_source_free(noise);
    return parameters;
}

Test(target_cache, training_with_kept_targets_has_the_bits_of_training_without)
{
    for (int turn = 0; turn < 4; turn++) {
        struct kit kit;
        kit_init(&kit, "cql", turn % 2 == 0 ? MECHANISM_NONE : MECHANISM_DPSGD, EXPERTS);
        kit_set(&kit, "hidden", 33);
        kit_set(&kit, "steps", 1000);
        kit_plan(&kit);
        struct trainer_settings settings = settings_of(&kit);
        settings.rule.asks_online_next = turn < 2;
        struct dataset *data = kit_data(EXPERTS, 9);
        cr_assert(target_cache_pays(&settings, data));
        float *kept = run(&kit, &settings, data);
        settings.forgets_targets = true;
        float *anew = run(&kit, &settings, data);
        cr_assert_arr_eq(kept, anew, kit.plan.parameter_count * sizeof *kept);
        settings.forgets_targets = false;
        settings.target_update_interval = 151;
        float *other = run(&kit, &settings, data);
        cr_assert_arr_neq(kept, other, kit.plan.parameter_count * sizeof *kept);
        free(kept);
        free(anew);
        free(other);
        dataset_free(data);
    }
}

Test(target_cache, holds_what_the_network_says_at_the_next_state)
{
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_NONE, EXPERTS);
    kit_plan(&kit);
    const struct trainer_settings settings = settings_of(&kit);
    struct dataset *data = kit_data(EXPERTS, 10);
    struct target_cache cache;
    float first[128], second[128];
    struct rng rng;
    rng_seed(&rng, 1, 1);
    cr_assert_leq(kit.plan.parameter_count, 128);
    mlp_initialize(&kit.plan.shape, &rng, 1.0, first);
    mlp_initialize(&kit.plan.shape, &rng, 1.0, second);
    target_cache_init(&cache, &settings, data);
    for (int copy = 0; copy < 2; copy++) {
        const float *target = copy == 0 ? first : second;
        for (uint64_t i = 0; i < data->transition_count; i++) {
            float input[KIT_DIM], expected[KIT_ACTIONS], scratch[16];
            for (int d = 0; d < KIT_DIM; d++)
                input[d] = 1.5F * data->states[(data->state_row[i] + 1) * KIT_DIM + (size_t)d];
            mlp_forward_one(&kit.plan.shape, target, input, expected, scratch);
            const float *found = target_cache_at(&cache, target, i);
            for (int a = 0; a < KIT_ACTIONS; a++)
                cr_assert_float_eq(found[a], expected[a], 1e-5, "transition %zu", (size_t)i);
        }
        const float *old = target_cache_at(&cache, NULL, 0);
        cr_assert_eq(old, target_cache_at(&cache, target, 0), "nothing is computed twice");
        const uint64_t some[] = {9, 0, 9, 3, 5, 1, 8, 2, 7, 6, 4};
        float copies[sizeof some / sizeof some[0]][KIT_ACTIONS];
        target_cache_copy(&cache, target, some, sizeof some / sizeof some[0], copies[0]);
        for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
            cr_assert_arr_eq(copies[i], target_cache_at(&cache, target, some[i]), sizeof copies[i]);
        target_cache_forget(&cache);
    }
    target_cache_clear(&cache);
    dataset_free(data);
}

Test(target_cache, is_kept_only_where_that_pays)
{
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_NONE, EXPERTS);
    kit_plan(&kit);
    struct dataset *data = kit_data(EXPERTS, 10); /* 200 transitions */
    struct trainer_settings settings = settings_of(&kit);
    settings.target_update_interval = 100;
    cr_expect(target_cache_pays(&settings, data));
    settings.target_update_interval = 99;
    cr_expect_not(target_cache_pays(&settings, data));
    settings.target_update_interval = 1000;
    settings.polyak_tau = 0.1;
    cr_expect_not(target_cache_pays(&settings, data));
    settings.polyak_tau = 0.0;
    settings.rule.target_outputs = 0;
    cr_expect_not(target_cache_pays(&settings, data));
    dataset_free(data);
}

/* What a training asks of the memory follows its data: a hundred rows need no hundred megabytes. */
Test(target_cache, takes_what_its_values_take)
{
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_NONE, EXPERTS);
    kit_plan(&kit);
    struct trainer_settings settings = settings_of(&kit);
    struct dataset *few = kit_data(EXPERTS, 9), *many = kit_data(2 * EXPERTS, 9);
    size_t one = target_cache_bytes(&settings, few), two = target_cache_bytes(&settings, many);
    uint64_t more = many->transition_count - few->transition_count;
    cr_expect_gt(one, few->transition_count * KIT_ACTIONS * sizeof(float));
    cr_expect_lt(one, 1 << 20);
    cr_expect_geq(two - one, more * KIT_ACTIONS * sizeof(float));
    settings.polyak_tau = 0.5;
    cr_expect_eq(target_cache_bytes(&settings, few), 0);
    dataset_free(few);
    dataset_free(many);
}
