/* Discrete conservative Q-learning with double-DQN targets. For a transition (s, a, r, s',
 * terminal):
 *
 *   y    = reward_scale r + discount (1 - terminal) Qbar(s', argmax_b Q(s', b))
 *   loss = alpha (logsumexp_b Q(s, b) - Q(s, a)) + huber(Q(s, a) - y)
 *   dloss/dQ(s, b) = alpha softmax(Q(s, .))_b + [b = a] (clamp(Q(s, a) - y, -1, 1) - alpha)
 *
 * with Qbar the target network (van Hasselt et al. 2016; Kumar et al. 2020; the loss as d3rlpy's
 * DiscreteCQL computes it). A trajectory cut by a step limit is not terminal: it bootstraps. */
#include "algos/offline/cql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/dp_trainer.h"
#include "algos/privacy/noise_source.h"

#define USUAL_BATCH 128

enum {
    P_HIDDEN,
    P_ACTIVATION,
    P_LEARNING_RATE,
    P_FINAL_RATE,
    P_OPTIMIZER,
    P_MOMENTUM,
    P_BATCH_SIZE,
    P_CLIP_NORM,
    P_STEPS,
    P_NOISE_MULTIPLIER,
    P_ALPHA,
    P_TARGET_INTERVAL,
    P_POLYAK_TAU,
    P_AVERAGE_DECAY,
    P_FULL_WEIGHT,
    P_WEIGHT_POWER,
    P_REWARD_SCALE,
    P_INPUT_SCALE,
    P_COUNT
};

static const char *const activations[] = {"relu", "tanh", NULL};
static const char *const optimizers[] = {"sgd", "adam", NULL};

#define ONE(x)                                                                                     \
    {                                                                                              \
        .number = {x}, .count = 1                                                                  \
    }

/* Defaults: found on three populations of 300 CartPole experts and on two synthetic ones, epsilon
 * 10, delta 1e-5, 24 runs a setting. What mattered: one small hidden layer (noise grows with the
 * number of weights); inputs of order 1 to 10, because states of order 0.1 hardly move the first
 * layer; weighing experts (mean return 74 unweighted, 97 to 123 at power 1, 141 at 2, 165 at 3);
 * values of order 5. Learning rate, clip norm, batch size and steps may change by factors of 2 to 4
 * with little effect: the noise that the budget leaves after averaging does not depend on them. */
static const struct parameter_spec specs[P_COUNT] = {
    [P_HIDDEN] = {"hidden",
                  PARAMETER_INTEGER_LIST,
                  {{128}, 1},
                  1,
                  1024,
                  NULL,
                  "units",
                  "Widths of the hidden layers; noise grows with the network, so smaller is better "
                  "under privacy."},
    [P_ACTIVATION] = {"activation", PARAMETER_CHOICE, ONE(MLP_RELU), 0, 1, activations, "",
                      "What follows every hidden layer."},
    [P_LEARNING_RATE] = {"learning_rate", PARAMETER_REAL, ONE(0.003), 1e-7, 10, NULL, "",
                         "Step size of the optimiser at the start."},
    [P_FINAL_RATE] = {"final_rate_fraction", PARAMETER_REAL, ONE(0.1), 0, 1, NULL, "",
                      "The step size falls linearly to this part of itself."},
    [P_OPTIMIZER] = {"optimizer", PARAMETER_CHOICE, ONE(OPTIMIZER_ADAM), 0, 1, optimizers, "",
                     "How gradients move the weights."},
    [P_MOMENTUM] = {"momentum", PARAMETER_REAL, ONE(0.9), 0, 0.9999, NULL, "",
                    "Momentum of sgd, or the first beta of adam."},
    [P_BATCH_SIZE] =
        {"batch_size", PARAMETER_INTEGER, ONE(0), 0, 65536, NULL, "experts",
         "Expected examples in a step; with dpsgd each is of another expert. 0: 128, or the "
         "nominal number of experts where that is smaller."},
    [P_CLIP_NORM] = {"clip_norm", PARAMETER_REAL, ONE(3), 1e-6, 1e6, NULL, "",
                     "Bound of one example's gradient norm (dpsgd)."},
    [P_STEPS] = {"steps", PARAMETER_INTEGER, ONE(10000), 1, 10000000, NULL, "steps",
                 "Optimiser steps; the most of them when noise_multiplier is given."},
    [P_NOISE_MULTIPLIER] = {"noise_multiplier", PARAMETER_REAL, ONE(0), 0, 1e6, NULL, "",
                            "Noise deviation over clip_norm (dpsgd); 0: the least that the "
                            "requested epsilon allows for all steps."},
    [P_ALPHA] = {"alpha", PARAMETER_REAL, ONE(1), 0, 1000, NULL, "",
                 "Weight of the conservative term; the larger, the closer to the experts."},
    [P_TARGET_INTERVAL] = {"target_update_interval", PARAMETER_INTEGER, ONE(100), 1, 10000000, NULL,
                           "steps",
                           "Steps between copies to the target network when polyak_tau is 0."},
    [P_POLYAK_TAU] = {"polyak_tau", PARAMETER_REAL, ONE(0), 0, 1, NULL, "",
                      "Part of the way that the target network follows in every step."},
    [P_AVERAGE_DECAY] =
        {"average_decay", PARAMETER_REAL, ONE(0.999), 0, 0.999999, NULL, "",
         "Decay of the average of weights that is the result; 0: the last weights."},
    [P_FULL_WEIGHT] = {"full_weight_transitions", PARAMETER_INTEGER, ONE(4000), 1, 1e9, NULL,
                       "transitions", "Public; an expert with fewer transitions weighs less."},
    [P_WEIGHT_POWER] = {"weight_power", PARAMETER_REAL, ONE(3), 0, 10, NULL, "",
                        "Power of that weight: 0 weighs experts alike, 1 weighs transitions "
                        "alike, more trusts experts with long episodes."},
    [P_REWARD_SCALE] = {"reward_scale", PARAMETER_REAL, ONE(0.05), 1e-6, 1e6, NULL, "",
                        "Factor of every reward, public; values of order 1 suit the loss."},
    [P_INPUT_SCALE] = {"input_scale", PARAMETER_REAL, ONE(10), 1e-6, 1e6, NULL, "",
                       "Factor of every number of a state, public; of order 1 they suit the "
                       "network."},
};

static double number(const struct algorithm_request *request, int index)
{
    return request->parameters.value[index].number[0];
}

float cql_loss(const float *q, uint32_t actions, uint32_t action, float y, float alpha,
               float *gradient)
{
    float most = q[0];
    for (uint32_t b = 1; b < actions; b++)
        most = q[b] > most ? q[b] : most;
    float sum = 0.0F;
    for (uint32_t b = 0; b < actions; b++) {
        gradient[b] = expf(q[b] - most);
        sum += gradient[b];
    }
    for (uint32_t b = 0; b < actions; b++)
        gradient[b] *= alpha / sum;
    float difference = q[action] - y, size = fabsf(difference);
    float slope = difference;
    if (size > 1.0F)
        slope = difference > 0.0F ? 1.0F : -1.0F;
    gradient[action] += slope - alpha;
    float huber = size > 1.0F ? size - 0.5F : 0.5F * difference * difference;
    return alpha * (most + logf(sum) - q[action]) + huber;
}

struct cql {
    uint32_t actions;
    float alpha, discount;
};

static void cql_errors(const void *context, const struct trainer_rows *rows)
{
    const struct cql *cql = context;
    for (uint32_t i = 0; i < rows->count; i++) {
        size_t row = (size_t)i * cql->actions;
        float y = rows->rewards[i];
        if (!rows->terminated[i]) {
            uint32_t best = policy_best_action(rows->online_next[0] + row, cql->actions);
            y += cql->discount * rows->target_next[0][row + best];
        }
        (void)cql_loss(rows->online[0] + row, cql->actions, rows->actions[i], y, cql->alpha,
                       rows->error[0] + row);
    }
}

static bool shape_of(const struct algorithm_request *request, struct mlp_shape *out)
{
    const struct parameter_value *hidden = &request->parameters.value[P_HIDDEN];
    *out = (struct mlp_shape){.input = request->state_dim, .layer_count = hidden->count + 1};
    if (out->layer_count > MLP_MAX_LAYERS)
        return false;
    for (unsigned l = 0; l < hidden->count; l++)
        out->width[l] = (uint32_t)hidden->number[l];
    out->width[hidden->count] = request->action_count;
    out->activation = (enum mlp_activation)number(request, P_ACTIVATION);
    return mlp_shape_valid(out);
}

/* The nominal batch, from public numbers alone. */
static uint32_t batch_size(const struct algorithm_request *request)
{
    uint32_t asked = (uint32_t)number(request, P_BATCH_SIZE);
    if (asked > 0)
        return asked;
    bool few = request->mechanism == MECHANISM_DPSGD && request->nominal_experts < USUAL_BATCH;
    return few ? request->nominal_experts : USUAL_BATCH;
}

/* The algorithm's own checks of the request: NULL, or what is wrong. */
static const char *check(const struct algorithm_request *request)
{
    for (unsigned i = 0; i < P_COUNT; i++) {
        if (parameters_check(&specs[i], &request->parameters.value[i]) != PARAMETER_FITS)
            return "a parameter is out of its bounds";
    }
    if (!(request->discount >= 0.0 && request->discount <= 1.0))
        return "the discount must be from 0 to 1";
    if (request->action_count < 1 || request->action_count > UINT16_MAX)
        return "the number of actions is out of bounds";
    if (request->mechanism == MECHANISM_DPSGD &&
        (request->nominal_experts < 1 || batch_size(request) > request->nominal_experts))
        return "batch_size must not exceed the nominal number of experts: each expert gives at "
               "most "
               "one example to a step";
    return NULL;
}

static enum algorithm_status plan_privacy(const struct algorithm_request *request,
                                          struct dp_sgd_plan *privacy, const char **message)
{
    *privacy = (struct dp_sgd_plan){
        .sampling_rate = (double)batch_size(request) / request->nominal_experts,
        .noise_multiplier = number(request, P_NOISE_MULTIPLIER),
        .clip_norm = number(request, P_CLIP_NORM),
        .batch_size = batch_size(request),
        .nominal_experts = request->nominal_experts,
        .steps = (uint64_t)number(request, P_STEPS),
        .delta = request->delta,
    };
    enum dp_sgd_plan_status status =
        privacy->noise_multiplier > 0.0
            ? dp_sgd_plan_find_steps(privacy, request->epsilon, privacy->steps)
            : dp_sgd_plan_find_noise(privacy, request->epsilon);
    switch (status) {
    case DP_SGD_PLAN_OK:
        return ALGORITHM_OK;
    case DP_SGD_PLAN_INFEASIBLE:
        *message = "the privacy budget cannot pay one step";
        return ALGORITHM_INFEASIBLE;
    case DP_SGD_PLAN_NO_MEMORY:
        return ALGORITHM_NO_MEMORY;
    case DP_SGD_PLAN_BAD:
        break;
    }
    *message = "epsilon or delta is out of bounds";
    return ALGORITHM_BAD_INPUT;
}

static enum algorithm_status cql_plan(const struct algorithm_request *request,
                                      struct algorithm_plan *out, const char **message)
{
    struct algorithm_plan plan = {0};
    *message = check(request);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    *message = "";
    if (!shape_of(request, &plan.shape)) {
        *message = "the network's sizes are out of bounds";
        return ALGORITHM_BAD_INPUT;
    }
    plan.parameter_count = mlp_parameter_count(&plan.shape);
    plan.total_steps = (uint64_t)number(request, P_STEPS);
    if (request->mechanism == MECHANISM_DPSGD) {
        enum algorithm_status status = plan_privacy(request, &plan.privacy, message);
        if (status != ALGORITHM_OK)
            return status;
        plan.total_steps = plan.privacy.steps;
    }
    *out = plan;
    return ALGORITHM_OK;
}

static enum algorithm_status cql_train(const struct algorithm_run *run, struct policy **out_policy,
                                       const char **message)
{
    const struct algorithm_request *request = run->request;
    const struct cql cql = {
        .actions = request->action_count,
        .alpha = (float)number(request, P_ALPHA),
        .discount = (float)request->discount,
    };
    const struct trainer_settings settings = {
        .rule = {.network_count = 1,
                 .shape = {run->plan->shape},
                 .uses_next = true,
                 .errors = cql_errors,
                 .context = &cql},
        .optimizer = {.kind = (enum optimizer_kind)number(request, P_OPTIMIZER),
                      .momentum = number(request, P_MOMENTUM),
                      .beta2 = 0.999,
                      .epsilon = 1e-8},
        .learning_rate = number(request, P_LEARNING_RATE),
        .final_rate_fraction = number(request, P_FINAL_RATE),
        .polyak_tau = number(request, P_POLYAK_TAU),
        .target_update_interval = (uint64_t)number(request, P_TARGET_INTERVAL),
        .average_decay = number(request, P_AVERAGE_DECAY),
        .full_weight_transitions = (uint64_t)number(request, P_FULL_WEIGHT),
        .weight_power = number(request, P_WEIGHT_POWER),
        .reward_scale = number(request, P_REWARD_SCALE),
        .input_scale = number(request, P_INPUT_SCALE),
        .batch_size = batch_size(request),
    };
    float *parameters = NULL;
    enum algorithm_status status = trainer_run(run, &settings, &parameters, message);
    if (status != ALGORITHM_OK)
        return status;
    struct policy *policy = policy_new(&run->plan->shape, POLICY_Q);
    if (!policy) {
        free(parameters);
        return ALGORITHM_NO_MEMORY;
    }
    memcpy(policy->parameters, parameters, run->plan->parameter_count * sizeof *parameters);
    free(parameters);
    policy->injected_noise =
        request->mechanism != MECHANISM_NONE && run->noise && noise_source_is_injected(run->noise);
    *out_policy = policy;
    return ALGORITHM_OK;
}

const struct algorithm cql_algorithm = {
    .name = "cql",
    .summary = "Conservative Q-learning from logged trajectories (double DQN targets).",
    .mechanisms = {[MECHANISM_NONE] = true, [MECHANISM_DPSGD] = true},
    .needs_dataset = true,
    .privacy_unit = "expert",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .plan = cql_plan,
    .train = cql_train,
};
