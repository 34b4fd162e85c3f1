/* PPO's parameters, plan and run. */
#include "algos/online/ppo_algorithm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"

enum {
    P_HIDDEN,
    P_ACTIVATION,
    P_TRANSITIONS,
    P_WORLDS,
    P_ROLLOUT,
    P_EPOCHS,
    P_MINIBATCH,
    P_LEARNING_RATE,
    P_FINAL_RATE,
    P_DISCOUNT,
    P_LAMBDA,
    P_CLIP,
    P_ENTROPY,
    P_VALUE_WEIGHT,
    P_GRADIENT_NORM,
    P_STEP_LIMIT,
    P_OBSERVATIONS,
    P_REWARDS,
    P_COUNT
};

static const char *const activations[] = {"relu", "tanh", NULL};
static const char *const answers[] = {"no", "yes", NULL};

#define ONE(x)                                                                                     \
    {                                                                                              \
        .number = {x}, .count = 1                                                                  \
    }

static const struct parameter_spec specs[P_COUNT] = {
    [P_HIDDEN] = {"hidden",
                  PARAMETER_INTEGER_LIST,
                  {{64, 64}, 2},
                  1,
                  1024,
                  NULL,
                  "units",
                  "Widths of the hidden layers, of the policy and of the value network alike."},
    [P_ACTIVATION] = {"activation", PARAMETER_CHOICE, ONE(MLP_TANH), 0, 1, activations, "",
                      "What follows every hidden layer."},
    [P_TRANSITIONS] = {"transitions", PARAMETER_INTEGER, ONE(300000), 1, 1e9, NULL, "steps",
                       "Steps to play over all worlds, rounded up to whole roll-outs."},
    [P_WORLDS] = {"worlds", PARAMETER_INTEGER, ONE(16), 1, PPO_MAX_WORLDS, NULL, "worlds",
                  "Copies of the world played side by side."},
    [P_ROLLOUT] = {"rollout_steps", PARAMETER_INTEGER, ONE(64), 1, PPO_MAX_STEPS, NULL, "steps",
                   "Steps of each world between two updates."},
    [P_EPOCHS] = {"epochs", PARAMETER_INTEGER, ONE(4), 1, 100, NULL, "passes",
                  "Passes over the transitions of a roll-out."},
    [P_MINIBATCH] = {"minibatch", PARAMETER_INTEGER, ONE(128), 1, 65536, NULL, "transitions",
                     "Transitions of a gradient step; at most worlds times rollout_steps."},
    [P_LEARNING_RATE] = {"learning_rate", PARAMETER_REAL, ONE(1e-3), 1e-7, 1, NULL, "",
                         "Step size of Adam at the start."},
    [P_FINAL_RATE] = {"final_rate_fraction", PARAMETER_REAL, ONE(0), 0, 1, NULL, "",
                      "The step size falls linearly to this part of itself."},
    [P_DISCOUNT] = {"discount", PARAMETER_REAL, ONE(0.99), 0, 1, NULL, "",
                    "Worth of a reward one step later."},
    [P_LAMBDA] = {"lambda", PARAMETER_REAL, ONE(0.95), 0, 1, NULL, "",
                  "Of the generalised advantage estimate."},
    [P_CLIP] = {"clip", PARAMETER_REAL, ONE(0.2), 1e-6, 1, NULL, "",
                "How far a probability ratio may gain from leaving 1."},
    [P_ENTROPY] = {"entropy_bonus", PARAMETER_REAL, ONE(0.01), 0, 10, NULL, "",
                   "Weight of the policy's entropy."},
    [P_VALUE_WEIGHT] = {"value_weight", PARAMETER_REAL, ONE(0.5), 0, 100, NULL, "",
                        "Weight of the value network's squared error."},
    [P_GRADIENT_NORM] = {"max_gradient_norm", PARAMETER_REAL, ONE(0.5), 1e-6, 1e6, NULL, "",
                         "Longer gradients, of both networks jointly, are cut to this length."},
    [P_STEP_LIMIT] = {"step_limit", PARAMETER_INTEGER, ONE(0), 0, 100000, NULL, "steps",
                      "Episodes are cut off there; 0: the usual limit of the world."},
    [P_OBSERVATIONS] = {"normalize_observations", PARAMETER_CHOICE, ONE(1), 0, 1, answers, "",
                        "Whether the networks learn on observations of mean 0 and deviation 1; "
                        "the result reads plain ones."},
    [P_REWARDS] = {"normalize_rewards", PARAMETER_CHOICE, ONE(1), 0, 1, answers, "",
                   "Whether rewards are divided by the deviation of discounted returns."},
};

/* What suffices in a world, with some to spare: docs/learning.md has the curves. A landing pays off
 * hundreds of steps after the decisions that led to it, so the lander looks further ahead. */
static const struct parameter_override overrides[] = {
    {"cartpole", P_TRANSITIONS, ONE(100000)}, {"acrobot", P_TRANSITIONS, ONE(150000)},
    {"hiv", P_TRANSITIONS, ONE(200000)},      {"lunar_lander", P_TRANSITIONS, ONE(1000000)},
    {"lunar_lander", P_ROLLOUT, ONE(128)},    {"lunar_lander", P_DISCOUNT, ONE(0.999)},
    {"lunar_lander", P_LAMBDA, ONE(0.98)},
};

static double number(const struct algorithm_request *request, int index)
{
    return request->parameters.value[index].number[0];
}

struct ppo_settings ppo_settings_of(const struct algorithm_request *request)
{
    const struct parameter_value *hidden = &request->parameters.value[P_HIDDEN];
    uint32_t limit = (uint32_t)number(request, P_STEP_LIMIT);
    struct ppo_settings settings = {
        .hidden_count = hidden->count,
        .activation = (enum mlp_activation)number(request, P_ACTIVATION),
        .worlds = (uint32_t)number(request, P_WORLDS),
        .steps = (uint32_t)number(request, P_ROLLOUT),
        .epochs = (uint32_t)number(request, P_EPOCHS),
        .minibatch = (uint32_t)number(request, P_MINIBATCH),
        .step_limit = limit > 0 ? limit : request->world->max_episode_steps,
        .discount = number(request, P_DISCOUNT),
        .lambda = number(request, P_LAMBDA),
        .clip = number(request, P_CLIP),
        .entropy_bonus = number(request, P_ENTROPY),
        .value_weight = number(request, P_VALUE_WEIGHT),
        .max_gradient_norm = number(request, P_GRADIENT_NORM),
        .reward_scale = 1.0,
        .normalize_observations = number(request, P_OBSERVATIONS) > 0.0,
        .normalize_rewards = number(request, P_REWARDS) > 0.0,
    };
    for (unsigned l = 0; l < hidden->count && l < MLP_MAX_LAYERS - 1; l++)
        settings.hidden[l] = (uint32_t)hidden->number[l];
    return settings;
}

double ppo_learning_rate(const struct algorithm_request *request, uint64_t step, uint64_t total)
{
    double done = (double)step / (double)total, last = number(request, P_FINAL_RATE);
    return number(request, P_LEARNING_RATE) * (1.0 - done * (1.0 - last));
}

static enum algorithm_status ppo_plan(const struct algorithm_request *request,
                                      struct algorithm_plan *out, const char **message)
{
    *message = "";
    for (unsigned i = 0; i < P_COUNT; i++) {
        if (parameters_check(&specs[i], &request->parameters.value[i]) != PARAMETER_FITS) {
            *message = "a parameter is out of its bounds";
            return ALGORITHM_BAD_INPUT;
        }
    }
    if (!request->world) {
        *message = "a world to play in is needed";
        return ALGORITHM_BAD_INPUT;
    }
    struct ppo_settings settings = ppo_settings_of(request);
    *message = ppo_settings_problem(&settings, request->world);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    uint64_t rollout = (uint64_t)settings.worlds * settings.steps;
    uint64_t transitions = (uint64_t)number(request, P_TRANSITIONS);
    *out = (struct algorithm_plan){
        .total_steps = (transitions + rollout - 1) / rollout,
        .shape = ppo_settings_shape(&settings, request->world),
    };
    out->parameter_count = mlp_parameter_count(&out->shape);
    return ALGORITHM_OK;
}

/* What the run is, as one number: a checkpoint of another run is refused by it. */
static uint64_t fingerprint(const struct algorithm_request *request)
{
    uint64_t hash = checksum_words(CHECKSUM_START, &request->seed, sizeof request->seed);
    for (unsigned i = 0; i < P_COUNT; i++) {
        const struct parameter_value *value = &request->parameters.value[i];
        hash = checksum_words(hash, value->number, value->count * sizeof *value->number);
    }
    for (const char *c = request->world->name; *c != '\0'; c++) {
        uint32_t letter = (unsigned char)*c;
        hash = checksum_words(hash, &letter, sizeof letter);
    }
    return checksum_words(hash, request->world_parameters,
                          request->world->parameter_count * sizeof *request->world_parameters);
}

static bool save(const struct algorithm_run *run, const struct ppo *ppo, uint64_t step,
                 enum algorithm_status *status)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (!ppo_to_bytes(ppo, fingerprint(run->request), &bytes, &size)) {
        *status = ALGORITHM_NO_MEMORY;
        return false;
    }
    bool saved = run->hooks.save(run->hooks.context, step, bytes, size);
    free(bytes);
    if (!saved)
        *status = ALGORITHM_PAUSED;
    return saved;
}

/* What the caller wants after STEP updates; ALGORITHM_OK to go on. */
static enum algorithm_status pulse(const struct algorithm_run *run, const struct ppo *ppo,
                                   uint64_t step)
{
    enum algorithm_status status = ALGORITHM_OK;
    struct ppo_report report = ppo_report_of(ppo);
    if (run->hooks.show_return && report.episodes > 0)
        run->hooks.show_return(run->hooks.context, report.mean_return);
    if (!run->hooks.pulse)
        return ALGORITHM_OK;
    switch (run->hooks.pulse(run->hooks.context, step)) {
    case PULSE_CONTINUE:
        break;
    case PULSE_SAVE:
        (void)save(run, ppo, step, &status);
        break;
    case PULSE_SAVE_AND_PAUSE:
        status = save(run, ppo, step, &status) ? ALGORITHM_PAUSED : status;
        break;
    case PULSE_CANCEL:
        status = ALGORITHM_CANCELLED;
        break;
    }
    return status;
}

static enum algorithm_status learn(const struct algorithm_run *run, struct ppo *ppo, uint64_t step,
                                   const char **message)
{
    uint64_t total = run->plan->total_steps;
    while (step < total) {
        struct ppo_report report;
        if (!ppo_update(ppo, ppo_learning_rate(run->request, step, total), &report)) {
            *message = "the world broke";
            return ALGORITHM_BAD_INPUT;
        }
        enum algorithm_status status = ++step < total ? pulse(run, ppo, step) : ALGORITHM_OK;
        if (status != ALGORITHM_OK)
            return status;
    }
    return ALGORITHM_OK;
}

static enum algorithm_status give(const struct ppo *ppo, struct policy **out, const char **message)
{
    struct policy *policy = policy_new(ppo_policy_shape(ppo), POLICY_SOFTMAX);
    if (!policy)
        return ALGORITHM_NO_MEMORY;
    if (!ppo_write_policy(ppo, policy->parameters)) {
        policy_free(policy);
        *message = "the weights grew without bound; a smaller learning rate helps";
        return ALGORITHM_BAD_INPUT;
    }
    *out = policy;
    return ALGORITHM_OK;
}

static enum algorithm_status ppo_train(const struct algorithm_run *run, struct policy **out_policy,
                                       const char **message)
{
    const struct algorithm_request *request = run->request;
    struct ppo_settings settings = ppo_settings_of(request);
    struct rng rng;
    *message = "";
    rng_seed(&rng, request->seed, 0);
    struct ppo *ppo = ppo_new(&settings, request->world, request->world_parameters, &rng);
    if (!ppo)
        return ALGORITHM_NO_MEMORY;
    enum algorithm_status status = ALGORITHM_OK;
    uint64_t step = 0;
    if (run->checkpoint) {
        if (!ppo_from_bytes(ppo, fingerprint(request), run->checkpoint, run->checkpoint_size)) {
            *message = "the checkpoint is damaged or of another run";
            status = ALGORITHM_BAD_CHECKPOINT;
            goto cleanup;
        }
        step = ppo_updates(ppo);
    }
    status = learn(run, ppo, step, message);
    if (status == ALGORITHM_OK)
        status = give(ppo, out_policy, message);

cleanup:
    ppo_free(ppo);
    return status;
}

const struct algorithm ppo_algorithm = {
    .name = "ppo",
    .summary = "Proximal policy optimisation in a world; the result is public.",
    .mechanisms = {[MECHANISM_NONE] = true},
    .needs_world = true,
    .result_is_public = true,
    .privacy_unit = "",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .plan = ppo_plan,
    .train = ppo_train,
};
