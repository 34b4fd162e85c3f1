/* See online_kit.h. */
#include "tests/unit/algos/online_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"

void online_kit_init(struct online_kit *kit, const char *algorithm,
                     enum algorithm_mechanism mechanism, const char *world, uint8_t key)
{
    uint8_t bytes[32];
    memset(bytes, key, sizeof bytes);
    *kit = (struct online_kit){.algorithm = algorithm_find(algorithm)};
    cr_assert_not_null(kit->algorithm);
    struct algorithm_request *request = &kit->request;
    request->mechanism = mechanism;
    request->epsilon = 5.0;
    request->delta = mechanism == MECHANISM_LOCAL_REPORTS ? 0.0 : 1e-5;
    request->seed = 1;
    request->world = env_find(world);
    cr_assert_not_null(request->world);
    request->state_dim = request->world->state_dim;
    request->action_count = request->world->action_count;
    env_defaults(request->world, request->world_parameters);
    algorithm_defaults(kit->algorithm, world, &request->parameters);
    kit->noise = mechanism == MECHANISM_NONE ? NULL : noise_source_new_injected(bytes);
}

void online_kit_clear(struct online_kit *kit)
{
    noise_source_free(kit->noise);
    free(kit->bytes);
    *kit = (struct online_kit){0};
}

void online_kit_set(struct online_kit *kit, const char *name, double value)
{
    int index = parameters_index(kit->algorithm->parameters, kit->algorithm->parameter_count, name);
    cr_assert_geq(index, 0, "%s", name);
    kit->request.parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

enum algorithm_status online_kit_plan(struct online_kit *kit, const char **message)
{
    *message = NULL;
    return kit->algorithm->plan(&kit->request, &kit->plan, message);
}

static enum algorithm_pulse pulse(void *context, uint64_t step)
{
    struct online_kit *kit = context;
    if (kit->stop_at == 0 || step < kit->stop_at || kit->stopped)
        return PULSE_CONTINUE;
    kit->stopped = true;
    return kit->order;
}

static bool save(void *context, uint64_t step, const unsigned char *bytes, size_t size)
{
    struct online_kit *kit = context;
    free(kit->bytes);
    kit->bytes = malloc(size);
    cr_assert_not_null(kit->bytes);
    memcpy(kit->bytes, bytes, size);
    kit->size = size;
    kit->saved_at = step;
    return true;
}

static void show_return(void *context, double mean_return)
{
    struct online_kit *kit = context;
    cr_assert(mean_return == mean_return);
    kit->told++;
}

enum algorithm_status online_kit_run(struct online_kit *kit, const unsigned char *checkpoint,
                                     size_t size, struct policy **out, const char **message)
{
    const struct algorithm_run run = {
        .request = &kit->request,
        .plan = &kit->plan,
        .checkpoint = checkpoint,
        .checkpoint_size = size,
        .hooks = {.context = kit, .pulse = pulse, .save = save, .show_return = show_return},
        .noise = kit->noise,
    };
    *message = NULL;
    *out = NULL;
    return kit->algorithm->train(&run, out, message);
}

struct policy *online_kit_policy(struct online_kit *kit)
{
    const char *message;
    struct policy *policy;
    cr_assert_eq(online_kit_plan(kit, &message), ALGORITHM_OK, "%s", message);
    cr_assert_eq(online_kit_run(kit, NULL, 0, &policy, &message), ALGORITHM_OK, "%s", message);
    cr_assert_eq(policy->injected_noise, kit->noise != NULL);
    return policy;
}

void online_kit_resume(const char *algorithm, enum algorithm_mechanism mechanism,
                       void (*set)(struct online_kit *kit), uint64_t stop_at)
{
    struct online_kit whole, cut;
    struct policy *policy, *again;
    const char *message;
    online_kit_init(&whole, algorithm, mechanism, "cartpole", 7);
    set(&whole);
    policy = online_kit_policy(&whole);

    online_kit_init(&cut, algorithm, mechanism, "cartpole", 7);
    set(&cut);
    cr_assert_eq(online_kit_plan(&cut, &message), ALGORITHM_OK);
    cut.stop_at = stop_at;
    cut.order = PULSE_SAVE_AND_PAUSE;
    cr_assert_eq(online_kit_run(&cut, NULL, 0, &again, &message), ALGORITHM_PAUSED);
    cr_assert(cut.saved_at >= stop_at && cut.saved_at < cut.plan.total_steps);
    unsigned char *bytes = cut.bytes;
    size_t size = cut.size;
    cut.bytes = NULL;

    /* Damage and another run's settings are refused. */
    bytes[size / 2] ^= 1;
    cr_expect_eq(online_kit_run(&cut, bytes, size, &again, &message), ALGORITHM_BAD_CHECKPOINT);
    bytes[size / 2] ^= 1;
    cr_expect_eq(online_kit_run(&cut, bytes, size - 8, &again, &message), ALGORITHM_BAD_CHECKPOINT);
    cut.request.seed++;
    cr_expect_eq(online_kit_run(&cut, bytes, size, &again, &message), ALGORITHM_BAD_CHECKPOINT);
    cut.request.seed--;

    cr_assert_eq(online_kit_run(&cut, bytes, size, &again, &message), ALGORITHM_OK, "%s", message);
    cr_expect_arr_eq(policy->parameters, again->parameters,
                     mlp_parameter_count(&policy->shape) * sizeof(float));
    policy_free(policy);
    policy_free(again);
    free(bytes);
    online_kit_clear(&whole);
    online_kit_clear(&cut);
}
