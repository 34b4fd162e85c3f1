/* See offline_kit.h. */
#include "tests/unit/algos/offline_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/privacy/noise/noise_source.h"
#include "envs/rng.h"

struct dataset *kit_data(uint32_t experts, uint64_t seed)
{
    struct dataset_builder *builder = dataset_builder_new(KIT_DIM, KIT_ACTIONS, experts);
    cr_assert_not_null(builder);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    for (uint32_t e = 0; e < experts; e++) {
        float states[(KIT_LENGTH + 1) * KIT_DIM], rewards[KIT_LENGTH];
        uint16_t actions[KIT_LENGTH];
        for (int i = 0; i < (KIT_LENGTH + 1) * KIT_DIM; i++)
            states[i] = (float)rng_normal(&rng);
        for (int i = 0; i < KIT_LENGTH; i++) {
            rewards[i] = (float)rng_normal(&rng);
            actions[i] = (uint16_t)rng_below(&rng, KIT_ACTIONS);
        }
        const struct trajectory trajectory = {.expert = e,
                                              .length = KIT_LENGTH,
                                              .terminated = e % 2,
                                              .truncated = e % 2 == 0,
                                              .states = states,
                                              .actions = actions,
                                              .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &trajectory));
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

struct dataset *kit_expert(const struct dataset *data, uint32_t which)
{
    struct dataset_builder *builder = dataset_builder_new(KIT_DIM, KIT_ACTIONS, 1);
    cr_assert_not_null(builder);
    uint64_t first = data->expert_transitions[which];
    const struct trajectory trajectory = {.length = KIT_LENGTH,
                                          .terminated = data->terminated[first + KIT_LENGTH - 1],
                                          .states = data->states + data->state_row[first] * KIT_DIM,
                                          .actions = data->actions + first,
                                          .rewards = data->rewards + first};
    cr_assert(dataset_builder_add(builder, &trajectory));
    struct dataset *alone = dataset_builder_finish(builder);
    cr_assert_not_null(alone);
    memcpy(alone->terminated, data->terminated + first, KIT_LENGTH);
    return alone;
}

double kit_number(const struct algorithm *algorithm, const struct parameter_values *values,
                  const char *name)
{
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    cr_assert_geq(index, 0);
    return values->value[index].number[0];
}

void kit_init(struct kit *kit, const char *algorithm, enum algorithm_mechanism mechanism,
              uint32_t experts)
{
    *kit = (struct kit){.algorithm = algorithm_find(algorithm)};
    cr_assert_not_null(kit->algorithm);
    kit->request = (struct algorithm_request){.mechanism = mechanism,
                                              .epsilon = 5,
                                              .delta = 1e-3,
                                              .discount = 0.9,
                                              .state_dim = KIT_DIM,
                                              .action_count = KIT_ACTIONS,
                                              .nominal_experts = experts,
                                              .seed = 3};
    parameters_defaults(kit->algorithm->parameters, kit->algorithm->parameter_count,
                        &kit->request.parameters);
    kit_set(kit, "hidden", 6);
    kit_set(kit, "arithmetic", 0); /* so that tests may make the noise vanish */
    kit_set(kit, "batch_size", 4);
    kit_set(kit, "full_weight_transitions", KIT_LENGTH);
}

static int index_of(const struct kit *kit, const char *parameter)
{
    return parameters_index(kit->algorithm->parameters, kit->algorithm->parameter_count, parameter);
}

bool kit_has(const struct kit *kit, const char *parameter)
{
    return index_of(kit, parameter) >= 0;
}

void kit_set(struct kit *kit, const char *parameter, double value)
{
    int index = index_of(kit, parameter);
    cr_assert_geq(index, 0, "%s", parameter);
    kit->request.parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

void kit_plan(struct kit *kit)
{
    const char *message = NULL;
    cr_assert_eq(kit->algorithm->plan(&kit->request, &kit->plan, &message), ALGORITHM_OK, "%s",
                 message);
}

struct policy *kit_train(const struct kit *kit, const struct dataset *data, uint8_t key)
{
    const uint8_t bytes[32] = {key};
    struct noise_source *noise = noise_source_new_injected(bytes);
    cr_assert_not_null(noise);
    const struct algorithm_run run = {
        .request = &kit->request, .plan = &kit->plan, .data = data, .noise = noise};
    struct policy *policy = NULL;
    const char *message = NULL;
    cr_assert_eq(kit->algorithm->train(&run, &policy, &message), ALGORITHM_OK, "%s", message);
    noise_source_free(noise);
    return policy;
}

void kit_one_step(struct kit *kit, double clip_norm)
{
    const struct {
        const char *name;
        double value;
    } set[] = {{"optimizer", 0},     {"momentum", 0},          {"learning_rate", 1},
               {"average_decay", 0}, {"input_scale", 1},       {"final_rate_fraction", 1},
               {"steps", 1},         {"noise_multiplier", 1e6}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        kit_set(kit, set[i].name, set[i].value);
    kit_plan(kit);
    kit->plan.privacy.clip_norm = clip_norm;
    kit->plan.privacy.noise_multiplier = 1e-12;
    kit->plan.privacy.sampling_rate = 1.0;
    kit->plan.privacy.batch_size = 1;
}

void kit_gradient(const struct kit *kit, const struct dataset *data, double *out)
{
    struct dataset *nobody = dataset_builder_finish(dataset_builder_new(KIT_DIM, KIT_ACTIONS, 1));
    cr_assert_not_null(nobody);
    struct policy *before = kit_train(kit, nobody, 1), *after = kit_train(kit, data, 1);
    for (size_t i = 0; i < kit->plan.parameter_count; i++)
        out[i] = (double)before->parameters[i] - (double)after->parameters[i];
    policy_free(before);
    policy_free(after);
    dataset_free(nobody);
}
