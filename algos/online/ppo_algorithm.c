/* PPO's parameters and plan; its run is in ppo_run.c. */
#include "algos/online/ppo_algorithm.h"

#include "algos/online/online_run.h"
#include "algos/online/ppo_parameters.h"
#include "algos/online/ppo_run.h"

const char *const ppo_activation_names[] = {"relu", "tanh", NULL};
const char *const ppo_answer_names[] = {"no", "yes", NULL};

static const struct parameter_spec specs[PPO_P_COUNT] = {PPO_PARAMETERS(64)};
static const struct parameter_override overrides[] = {PPO_OVERRIDES};

struct ppo_settings ppo_settings_of(const struct algorithm_request *request)
{
    const struct parameter_value *hidden = &request->parameters.value[PPO_P_HIDDEN];
    uint32_t limit = (uint32_t)algorithm_number(request, PPO_P_STEP_LIMIT);
    struct ppo_settings settings = {
        .hidden_count = hidden->count,
        .activation = (enum mlp_activation)algorithm_number(request, PPO_P_ACTIVATION),
        .worlds = (uint32_t)algorithm_number(request, PPO_P_WORLDS),
        .steps = (uint32_t)algorithm_number(request, PPO_P_ROLLOUT),
        .epochs = (uint32_t)algorithm_number(request, PPO_P_EPOCHS),
        .minibatch = (uint32_t)algorithm_number(request, PPO_P_MINIBATCH),
        .step_limit = limit > 0 ? limit : request->world->max_episode_steps,
        .discount = algorithm_number(request, PPO_P_DISCOUNT),
        .lambda = algorithm_number(request, PPO_P_LAMBDA),
        .clip = algorithm_number(request, PPO_P_CLIP),
        .entropy_bonus = algorithm_number(request, PPO_P_ENTROPY),
        .value_weight = algorithm_number(request, PPO_P_VALUE_WEIGHT),
        .max_gradient_norm = algorithm_number(request, PPO_P_GRADIENT_NORM),
        .reward_scale = 1.0,
        .normalize_observations = algorithm_number(request, PPO_P_OBSERVATIONS) > 0.0,
        .normalize_rewards = algorithm_number(request, PPO_P_REWARDS) > 0.0,
    };
    for (unsigned l = 0; l < hidden->count && l < MLP_MAX_LAYERS - 1; l++)
        settings.hidden[l] = (uint32_t)hidden->number[l];
    return settings;
}

double ppo_learning_rate(const struct algorithm_request *request, uint64_t step, uint64_t total)
{
    double done = (double)step / (double)total, last = algorithm_number(request, PPO_P_FINAL_RATE);
    return algorithm_number(request, PPO_P_LEARNING_RATE) * (1.0 - done * (1.0 - last));
}

enum algorithm_status ppo_plan_of(const struct algorithm_request *request,
                                  const struct parameter_spec *table, unsigned count,
                                  struct algorithm_plan *out, const char **message)
{
    *message = online_request_problem(request, table, count);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    struct ppo_settings settings = ppo_settings_of(request);
    *message = ppo_settings_problem(&settings, request->world);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    uint64_t rollout = (uint64_t)settings.worlds * settings.steps;
    uint64_t transitions = (uint64_t)algorithm_number(request, PPO_P_TRANSITIONS);
    *out = (struct algorithm_plan){
        .total_steps = (transitions + rollout - 1) / rollout,
        .shape = ppo_settings_shape(&settings, request->world),
    };
    out->parameter_count = mlp_parameter_count(&out->shape);
    return ALGORITHM_OK;
}

static enum algorithm_status ppo_plan(const struct algorithm_request *request,
                                      struct algorithm_plan *out, const char **message)
{
    return ppo_plan_of(request, specs, PPO_P_COUNT, out, message);
}

static enum algorithm_status ppo_train(const struct algorithm_run *run, struct policy **out_policy,
                                       const char **message)
{
    return ppo_run(run, PPO_P_COUNT, NULL, out_policy, message);
}

const struct algorithm ppo_algorithm = {
    .name = "ppo",
    .summary = "Proximal policy optimisation in a world; the result is public.",
    .mechanisms = {[MECHANISM_NONE] = true},
    .kind = ALGORITHM_LEARNS_BY_PLAY,
    .privacy_unit = "",
    .parameters = specs,
    .parameter_count = PPO_P_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .plan = ppo_plan,
    .train = ppo_train,
};
