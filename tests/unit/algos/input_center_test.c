/* States that have much in common: input_center takes it away before the training, and puts it
 * into the result. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/offline/bcq.h"
#include "algos/offline/behaviour_cloning.h"
#include "algos/offline/cql.h"
#include "envs/rng.h"
#include "tests/unit/algos/offline_kit.h"

enum { EXPERTS = 8 };

static void set_each(struct kit *kit, const char *name, struct parameter_value value)
{
    int index = parameters_index(kit->algorithm->parameters, kit->algorithm->parameter_count, name);
    cr_assert_geq(index, 0);
    kit->request.parameters.value[index] = value;
}

static void set_center(struct kit *kit, struct parameter_value center)
{
    set_each(kit, "input_center", center);
}

/* States in sixteenths, so that taking CENTER from them and adding it is exact. */
static struct dataset *sixteenths(const double center[KIT_DIM])
{
    struct dataset *data = kit_data(EXPERTS, 4);
    uint64_t rows = data->transition_count + data->trajectory_count;
    for (uint64_t i = 0; i < rows * KIT_DIM; i++)
        data->states[i] = roundf(16 * data->states[i]) / 16 + (float)center[i % KIT_DIM];
    return data;
}

Test(input_center, a_state_and_its_center_moved_alike_change_nothing)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    const double none[KIT_DIM] = {0}, center[KIT_DIM] = {5, -2, 64};
    struct dataset *plain = sixteenths(none), *moved = sixteenths(center);
    for (int a = 0; a < 3; a++) {
        for (int mechanism = MECHANISM_NONE; mechanism <= MECHANISM_DPSGD; mechanism++) {
            struct kit kit;
            kit_init(&kit, algorithms[a], (enum algorithm_mechanism)mechanism, EXPERTS);
            kit_set(&kit, "steps", 200);
            kit_set(&kit, "input_scale", 0.5);
            kit_plan(&kit);
            struct policy *before = kit_train(&kit, plain, 1);
            set_center(&kit, (struct parameter_value){{5, -2, 64}, KIT_DIM});
            struct policy *after = kit_train(&kit, moved, 1);
            size_t weights = mlp_bias_offset(&kit.plan.shape, 0);
            cr_expect_arr_eq(before->parameters, after->parameters, weights * sizeof(float));
            float was[KIT_ACTIONS], is[KIT_ACTIONS];
            for (uint64_t i = 0; i < plain->transition_count * KIT_DIM; i += KIT_DIM) {
                cr_assert(policy_values(before, plain->states + i, was));
                cr_assert(policy_values(after, moved->states + i, is));
                for (int b = 0; b < KIT_ACTIONS; b++)
                    cr_expect_float_eq(is[b], was[b], 1e-3F * (1.0F + fabsf(was[b])), "%s",
                                       algorithms[a]);
            }
            policy_free(before);
            policy_free(after);
        }
    }
    dataset_free(plain);
    dataset_free(moved);
}

/* The share of states of 3 +- 0.1 at which a clone plays what their first number says, 0 below 3
 * and else 1. */
static double agreement(double center)
{
    struct kit kit;
    struct dataset *data = kit_data(200, 5);
    for (uint64_t i = 0; i < (data->transition_count + data->trajectory_count) * KIT_DIM; i++)
        data->states[i] = 3.0F + 0.1F * data->states[i];
    for (uint64_t i = 0; i < data->transition_count; i++)
        data->actions[i] = data->states[data->state_row[i] * KIT_DIM] > 3.0F;
    kit_init(&kit, "behaviour_cloning", MECHANISM_NONE, 200);
    kit_set(&kit, "steps", 1000);
    kit_set(&kit, "input_scale", 1);
    set_center(&kit, (struct parameter_value)PARAMETER_ONE(center));
    kit_plan(&kit);
    struct policy *policy = kit_train(&kit, data, 1);
    double right = 0.0;
    float values[KIT_ACTIONS];
    for (uint64_t i = 0; i < data->transition_count; i++) {
        const float *state = data->states + data->state_row[i] * KIT_DIM;
        right += policy_decide(policy, state, values) == data->actions[i];
    }
    double share = right / (double)data->transition_count;
    policy_free(policy);
    dataset_free(data);
    return share;
}

/* Each number of a state times a power of two, and its scale divided by it: the same training to
 * the bit, and a result that reads the states as they are. */
Test(input_center, a_state_and_its_scales_changed_alike_change_nothing)
{
    const double none[KIT_DIM] = {0};
    struct dataset *plain = sixteenths(none), *larger = sixteenths(none);
    const struct parameter_value scales = {{0.5 / 64, 0.5 * 4, 0.5}, KIT_DIM};
    for (uint64_t i = 0; i < (larger->transition_count + larger->trajectory_count) * KIT_DIM; i++)
        larger->states[i] *= (float)(0.5 / scales.number[i % KIT_DIM]);
    for (int mechanism = MECHANISM_NONE; mechanism <= MECHANISM_DPSGD; mechanism++) {
        struct kit kit;
        kit_init(&kit, "cql", (enum algorithm_mechanism)mechanism, EXPERTS);
        kit_set(&kit, "steps", 200);
        kit_set(&kit, "input_scale", 0.5);
        kit_plan(&kit);
        struct policy *before = kit_train(&kit, plain, 1);
        set_each(&kit, "input_scale", scales);
        struct policy *after = kit_train(&kit, larger, 1);
        float was[KIT_ACTIONS], is[KIT_ACTIONS];
        for (uint64_t i = 0; i < plain->transition_count * KIT_DIM; i += KIT_DIM) {
            cr_assert(policy_values(before, plain->states + i, was));
            cr_assert(policy_values(after, larger->states + i, is));
            cr_expect_arr_eq(was, is, sizeof was);
        }
        policy_free(before);
        policy_free(after);
    }
    dataset_free(plain);
    dataset_free(larger);
}

Test(input_center, tells_states_apart_that_differ_little)
{
    double with = agreement(3), without = agreement(0);
    cr_expect_gt(with, 0.9, "%.3f", with);
    cr_expect_gt(with, without + 0.05, "%.3f and %.3f", with, without);
}

Test(input_center, is_one_number_or_as_many_as_a_state_has)
{
    struct kit kit;
    const char *message = NULL;
    kit_init(&kit, "cql", MECHANISM_NONE, EXPERTS);
    set_center(&kit, (struct parameter_value){{1, 2}, 2});
    cr_assert_eq(kit.algorithm->plan(&kit.request, &kit.plan, &message), ALGORITHM_BAD_INPUT);
    cr_expect_str_eq(message, "input_center must be one number, or as many as a state has");
    set_center(&kit, (struct parameter_value)PARAMETER_ONE(0));
    set_each(&kit, "input_scale", (struct parameter_value){{1, 2}, 2});
    cr_assert_eq(kit.algorithm->plan(&kit.request, &kit.plan, &message), ALGORITHM_BAD_INPUT);
    cr_expect_str_eq(message, "input_scale must be one number, or as many as a state has");
}

Test(input_center, of_logarithms_is_a_default_where_states_are_such)
{
    const struct algorithm *const all[] = {&cql_algorithm, &bcq_algorithm,
                                           &behaviour_cloning_algorithm};
    static const double scales[] = {0.25, 2.5, 10};
    for (int a = 0; a < 3; a++) {
        struct parameter_values hiv, other;
        algorithm_defaults(all[a], "hiv", &hiv);
        algorithm_defaults(all[a], "cartpole", &other);
        cr_expect_eq(kit_number(all[a], &hiv, "input_center"), 5.6);
        cr_expect_eq(kit_number(all[a], &other, "input_scale"), scales[a]);
        cr_expect_eq(kit_number(all[a], &other, "input_center"), 0);
    }
}
