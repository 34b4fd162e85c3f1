/* DQN on a fixed buffer: its slots, which are protected, and that it learns. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/dqn_buffer.h"
#include "tests/unit/algos/online_kit.h"

static struct dataset *fill(enum dqn_unit unit, bool episodes, uint32_t size, uint64_t seed)
{
    const struct env *world = env_find("cartpole");
    double physics[ENV_MAX_PARAMETERS];
    bool broke = true;
    env_defaults(world, physics);
    const struct dqn_buffer_request request = {.world = world,
                                               .physics = physics,
                                               .unit = unit,
                                               .episodes = episodes,
                                               .size = size,
                                               .steps = 15,
                                               .seed = seed};
    struct dataset *data = dqn_buffer_fill(&request, &broke);
    cr_assert_not_null(data);
    cr_assert_not(broke);
    return data;
}

Test(dqn, every_slot_holds_what_the_unit_says)
{
    struct dataset *each = fill(DQN_TRANSITION, false, 100, 1);
    struct dataset *users = fill(DQN_USER, true, 100, 1), *all = fill(DQN_NOBODY, false, 100, 1);
    cr_assert_eq(each->expert_count, 100);
    cr_assert_eq(each->transition_count, 100);
    cr_assert_eq(users->expert_count, 100);
    cr_assert_eq(users->trajectory_count, 100);
    cr_assert_eq(all->expert_count, 1);
    cr_assert_eq(all->transition_count, 100);
    unsigned ended = 0;
    for (uint32_t t = 0; t < 100; t++) {
        cr_expect_eq(each->expert_transitions[t], t);
        /* The same play, cut up: records and what follows them agree. */
        const float *one = each->states + 4 * each->state_row[t];
        const float *same = all->states + 4 * all->state_row[t];
        cr_expect_arr_eq(one, same, 8 * sizeof(float));
        cr_expect_eq(each->terminated[t], all->terminated[t]);
        cr_expect_eq(each->actions[t], all->actions[t]);
        ended += each->terminated[t];
        uint64_t owned = users->expert_transitions[t + 1] - users->expert_transitions[t];
        cr_expect(owned >= 1 && owned <= 15); /* the step limit */
    }
    cr_expect(ended > 0 && ended < 30);
    dataset_free(each);
    dataset_free(users);
    dataset_free(all);
}

Test(dqn, noised_observations_are_kept_with_the_checkpoint)
{
    static const unsigned char inner[5] = {1, 2, 3, 4, 5};
    struct dataset *data = fill(DQN_NOBODY, false, 51, 1), *other = fill(DQN_NOBODY, false, 51, 2);
    unsigned char *bytes;
    const unsigned char *found;
    size_t size, found_size;
    size_t floats = 4 * (size_t)(data->transition_count + data->trajectory_count);
    float *before = malloc(floats * sizeof *before);
    memcpy(before, data->states, floats * sizeof *before);
    bytes = dqn_buffer_keep(data, inner, sizeof inner, &size);
    memset(data->states, 0, floats * sizeof *data->states);
    bytes[40] ^= 1;
    cr_expect_not(dqn_buffer_restore(data, bytes, size, &found, &found_size));
    cr_expect_eq(data->states[5], 0.0F);
    bytes[40] ^= 1;
    for (size_t cut = 1; cut < size; cut += 97)
        cr_expect_not(
            dqn_buffer_restore(data, bytes, cut < size - 5 ? cut : 8, &found, &found_size));
    cr_assert(dqn_buffer_restore(data, bytes, size, &found, &found_size));
    cr_expect_arr_eq(data->states, before, floats * sizeof *before);
    cr_assert_eq(found_size, sizeof inner);
    cr_expect_arr_eq(found, inner, sizeof inner);
    free(before);
    free(bytes);
    dataset_free(data);
    dataset_free(other);
}

/* Settings with which noise leaves most of the values (docs/results/online.md). */
static void fixed(struct online_kit *kit)
{
    online_kit_set(kit, "play", 0);
    online_kit_set(kit, "unit", DQN_TRANSITION);
    online_kit_set(kit, "buffer", 200000);
    online_kit_set(kit, "hidden", 16);
    online_kit_set(kit, "learning_rate", 0.01);
    online_kit_set(kit, "batch_size", 4096);
    online_kit_set(kit, "steps", 2000);
    online_kit_set(kit, "clip_norm", 30);
    online_kit_set(kit, "reward_scale", 1);
    online_kit_set(kit, "input_scale", 10);
    online_kit_set(kit, "transitions_per_expert", 1);
    online_kit_set(kit, "target_update_interval", 100);
}

static void small(struct online_kit *kit)
{
    fixed(kit);
    online_kit_set(kit, "hidden", 8);
    online_kit_set(kit, "buffer", 500);
    online_kit_set(kit, "batch_size", 256);
    online_kit_set(kit, "steps", 2500);
}

static void small_users(struct online_kit *kit)
{
    small(kit);
    online_kit_set(kit, "unit", DQN_USER);
    online_kit_set(kit, "step_limit", 30);
}

Test(dqn, goes_on_where_it_stopped)
{
    online_kit_resume("dqn", MECHANISM_NONE, small, 1);
    online_kit_resume("dqn", MECHANISM_DPSGD, small, 1);
    online_kit_resume("dqn", MECHANISM_DPSGD, small_users, 1);
    online_kit_resume("dqn", MECHANISM_LDP_OBSERVATIONS, small, 1);
}

/* Steps of a Poisson-subsampled Gaussian as the accountant has them by itself. */
Test(dqn, costs_what_subsampled_gaussians_cost)
{
    struct online_kit kit;
    const char *message;
    online_kit_init(&kit, "dqn", MECHANISM_DPSGD, "cartpole", 1);
    fixed(&kit);
    kit.request.epsilon = 100.0;
    online_kit_set(&kit, "buffer", 10000);
    online_kit_set(&kit, "batch_size", 128);
    online_kit_set(&kit, "steps", 10000);
    /* Noise multiplier and Renyi epsilon at delta 1e-5 by an independent program (integer orders);
     * the loss distribution gives less, and never more. */
    static const double table[][2] = {{1.0, 9.13}, {2.0, 3.10}, {5.0, 1.06}};
    for (size_t i = 0; i < 3; i++) {
        online_kit_set(&kit, "noise_multiplier", table[i][0]);
        cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
        cr_expect_eq(kit.plan.privacy.steps, 10000);
        cr_expect_eq(kit.plan.privacy.sampling_rate, 0.0128);
        cr_expect_float_eq(kit.plan.privacy.epsilon_renyi, table[i][1], 0.03 * table[i][1]);
        cr_expect_leq(kit.plan.privacy.epsilon, table[i][1]);
        cr_expect_gt(kit.plan.privacy.epsilon, 0.7 * table[i][1]);
    }
    struct statement statement = {0};
    kit.algorithm->describe(&kit.request, &kit.plan, "cartpole", &statement);
    cr_expect_str_eq(statement.unit, "transition");
    online_kit_set(&kit, "unit", DQN_USER);
    statement = (struct statement){0};
    kit.algorithm->describe(&kit.request, &kit.plan, "cartpole", &statement);
    cr_expect_str_eq(statement.unit, "user");
    online_kit_clear(&kit);
}

Test(dqn, refuses_what_cannot_be_planned)
{
    struct online_kit kit;
    const char *message;
    online_kit_init(&kit, "dqn", MECHANISM_DPSGD, "cartpole", 1);
    fixed(&kit);
    online_kit_set(&kit, "buffer", 100);
    online_kit_set(&kit, "batch_size", 101);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    online_kit_set(&kit, "batch_size", 0);
    online_kit_set(&kit, "unit", DQN_USER);
    online_kit_set(&kit, "buffer", 200000); /* as by default */
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    online_kit_set(&kit, "buffer", 1000000);
    online_kit_set(&kit, "step_limit", 10000);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    cr_expect_not_null(strstr(message, "buffer"));
    /* Noised observations have to fit into a checkpoint; others are played again. */
    online_kit_set(&kit, "buffer", 200000);
    online_kit_set(&kit, "step_limit", 500);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    kit.request.mechanism = MECHANISM_LDP_OBSERVATIONS;
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    cr_expect_not_null(strstr(message, "checkpoint"), "%s", message);
    online_kit_set(&kit, "step_limit", 250);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
    kit.request.world = NULL;
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    online_kit_clear(&kit);
}

/* Fixed seeds of worlds and noise; a random policy has 22. */
static double mean_return(enum algorithm_mechanism mechanism)
{
    struct online_kit kit;
    online_kit_init(&kit, "dqn", mechanism, "cartpole", 1);
    fixed(&kit);
    kit.request.seed = 3;
    kit.request.epsilon = 8.0;
    online_kit_set(&kit, "buffer", 100000);
    online_kit_set(&kit, "batch_size", 2048);
    struct policy *policy = online_kit_policy(&kit);
    struct policy_evaluation evaluation;
    cr_assert(policy_evaluate(policy, kit.request.world, kit.request.world_parameters, 50, 500, 7,
                              &evaluation));
    policy_free(policy);
    online_kit_clear(&kit);
    return evaluation.mean_return;
}

Test(dqn, learns_from_random_play)
{
    cr_expect_gt(mean_return(MECHANISM_NONE), 80.0);
}

Test(dqn, learns_in_private)
{
    cr_expect_gt(mean_return(MECHANISM_DPSGD), 80.0);
}
