/* A policy's outputs, its action and its evaluation in a world. Its byte form: policy_bytes.c. */
#include "algos/policy.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "envs/rng.h"

struct policy *policy_new(const struct mlp_shape *shape, enum policy_output output)
{
    if (!mlp_shape_valid(shape))
        return NULL;
    struct policy *policy = calloc(1, sizeof *policy);
    if (!policy)
        return NULL;
    policy->shape = *shape;
    policy->output = output;
    policy->parameters = calloc(mlp_parameter_count(shape), sizeof *policy->parameters);
    if (!policy->parameters) {
        free(policy);
        return NULL;
    }
    return policy;
}

void policy_free(struct policy *policy)
{
    if (!policy)
        return;
    free(policy->parameters);
    free(policy);
}

static uint32_t action_count(const struct policy *policy)
{
    return policy->shape.width[policy->shape.layer_count - 1];
}

bool policy_values(const struct policy *policy, const float *state, float *values)
{
    float scratch[2 * MLP_MAX_WIDTH];
    assert(mlp_scratch_count(&policy->shape) <= 2 * MLP_MAX_WIDTH);
    mlp_forward_one(&policy->shape, policy->parameters, state, values, scratch);
    for (uint32_t a = 0; a < action_count(policy); a++) {
        if (!isfinite(values[a]))
            return false;
    }
    return true;
}

uint32_t policy_best_action(const float *values, uint32_t actions)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < actions; a++) {
        if (values[a] > values[best])
            best = a;
    }
    return best;
}

static bool values_in_double(const struct policy *policy, const float *state, double *values)
{
    double input[MLP_MAX_WIDTH], scratch[2 * MLP_MAX_WIDTH];
    assert(mlp_scratch_count(&policy->shape) <= 2 * MLP_MAX_WIDTH);
    for (uint32_t i = 0; i < policy->shape.input; i++)
        input[i] = state[i];
    mlp_forward_double(&policy->shape, policy->parameters, input, values, scratch);
    for (uint32_t a = 0; a < action_count(policy); a++) {
        if (!isfinite(values[a]))
            return false;
    }
    return true;
}

bool policy_probabilities(const struct policy *policy, const float *state, double temperature,
                          double *probabilities)
{
    double values[MLP_MAX_WIDTH];
    uint32_t actions = action_count(policy), best = 0;
    if (!(temperature > 0.0) || !values_in_double(policy, state, values))
        return false;
    for (uint32_t a = 1; a < actions; a++)
        best = values[a] > values[best] ? a : best;
    if (policy->output == POLICY_ARGMAX) {
        for (uint32_t a = 0; a < actions; a++)
            probabilities[a] = a == best ? 1.0 : 0.0;
        return true;
    }
    double sum = 0.0;
    for (uint32_t a = 0; a < actions; a++) {
        probabilities[a] = exp((values[a] - values[best]) / temperature);
        sum += probabilities[a];
    }
    for (uint32_t a = 0; a < actions; a++)
        probabilities[a] /= sum;
    return true;
}

/* The action played at STATE: drawn for POLICY_SOFTMAX, else the best; -1 when not finite. */
static int act(const struct policy *policy, const float *state, struct rng *rng)
{
    uint32_t actions = action_count(policy);
    if (policy->output != POLICY_SOFTMAX) {
        float values[ENV_MAX_ACTIONS];
        if (!policy_values(policy, state, values))
            return -1;
        return (int)policy_best_action(values, actions);
    }
    double probabilities[ENV_MAX_ACTIONS] = {0};
    if (!policy_probabilities(policy, state, 1.0, probabilities))
        return -1;
    double u = rng_uniform(rng);
    uint32_t action = 0;
    while (action + 1 < actions && u >= probabilities[action]) {
        u -= probabilities[action];
        action++;
    }
    return (int)action;
}

static bool play_episode(const struct policy *policy, const struct env *env,
                         const double *parameters, void *state, uint32_t max_steps, struct rng *rng,
                         double *out_return)
{
    double observation[ENV_MAX_STATE_DIM];
    float input[ENV_MAX_STATE_DIM];
    double sum = 0.0;
    if (!env->reset(state, parameters, rng, observation))
        return false;
    for (uint32_t t = 0; t < max_steps; t++) {
        for (unsigned i = 0; i < env->state_dim; i++)
            input[i] = (float)observation[i];
        int action = act(policy, input, rng);
        if (action < 0)
            return false;
        struct env_outcome outcome =
            env->step(state, parameters, (unsigned)action, rng, observation);
        if (outcome.failed)
            return false;
        sum += outcome.reward;
        if (outcome.terminated)
            break;
    }
    *out_return = sum;
    return true;
}

bool policy_evaluate(const struct policy *policy, const struct env *env, const double *parameters,
                     uint32_t episodes, uint32_t max_steps, uint64_t seed,
                     struct policy_evaluation *out)
{
    if (episodes == 0 || policy->shape.input != env->state_dim ||
        action_count(policy) != env->action_count)
        return false;
    void *state = env_open(env);
    if (!state)
        return false;
    /* Welford's running mean and sum of squares. */
    double mean = 0.0, squares = 0.0;
    bool played = true;
    for (uint32_t e = 0; e < episodes && played; e++) {
        struct rng rng;
        double value = 0.0;
        rng_seed(&rng, seed, e);
        played = play_episode(policy, env, parameters, state, max_steps, &rng, &value);
        double difference = value - mean;
        mean += difference / (e + 1.0);
        squares += difference * (value - mean);
    }
    env_close(env, state);
    if (!played)
        return false;
    *out = (struct policy_evaluation){
        .mean_return = mean,
        .std_return = episodes > 1 ? sqrt(squares / (episodes - 1.0)) : 0.0,
        .episodes = episodes,
    };
    return true;
}
