/* A policy's outputs and its action. Its byte form: policy_bytes.c; how it does in a world:
 * policy_evaluate.c. */
#include "algos/policy.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/wipe.h"

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
    wipe_free(policy->parameters);
    free(policy);
}

static uint32_t output_count(const struct policy *policy)
{
    return policy->shape.width[policy->shape.layer_count - 1];
}

uint32_t policy_action_count(const struct policy *policy)
{
    uint32_t outputs = output_count(policy);
    return policy->output == POLICY_BCQ ? outputs / 2 : outputs;
}

int policy_choose(const struct policy *policy, const float *outputs)
{
    uint32_t actions = policy_action_count(policy), count = output_count(policy);
    for (uint32_t i = 0; i < count; i++)
        if (!isfinite(outputs[i]))
            return -1;
    if (policy->output == POLICY_BCQ)
        return (int)policy_best_allowed(outputs, outputs + actions, actions, policy->threshold);
    return (int)policy_best_action(outputs, actions);
}

int policy_decide(const struct policy *policy, const float *state, float *values)
{
    float scratch[2 * MLP_MAX_WIDTH], outputs[MLP_MAX_WIDTH];
    assert(mlp_scratch_count(&policy->shape) <= 2 * MLP_MAX_WIDTH);
    mlp_forward_one(&policy->shape, policy->parameters, state, outputs, scratch);
    memcpy(values, outputs, policy_action_count(policy) * sizeof *values);
    return policy_choose(policy, outputs);
}

bool policy_values(const struct policy *policy, const float *state, float *values)
{
    return policy_decide(policy, state, values) >= 0;
}

uint32_t policy_best_action(const float *values, uint32_t actions)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < actions; a++)
        if (values[a] > values[best])
            best = a;
    return best;
}

uint32_t policy_best_allowed(const float *values, const float *logits, uint32_t actions,
                             float threshold)
{
    /* G(a) > threshold max G, without a softmax that could underflow. */
    uint32_t likely = policy_best_action(logits, actions), best = likely;
    for (uint32_t a = 0; a < actions; a++) {
        bool allowed = expf(logits[a] - logits[likely]) > threshold;
        if (allowed && (values[a] > values[best] || (a < best && values[a] == values[best])))
            best = a;
    }
    return best;
}

static bool values_in_double(const struct policy *policy, const float *state, double *values)
{
    double input[MLP_MAX_WIDTH];
    for (uint32_t i = 0; i < policy->shape.input; i++)
        input[i] = state[i];
    mlp_forward_double(&policy->shape, policy->parameters, input, values);
    for (uint32_t i = 0; i < output_count(policy); i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

bool policy_probabilities(const struct policy *policy, const float *state, double temperature,
                          double *probabilities)
{
    double values[MLP_MAX_WIDTH];
    uint32_t actions = policy_action_count(policy), best = 0;
    if (!(temperature > 0.0))
        return false;
    if (policy->output == POLICY_ARGMAX || policy->output == POLICY_BCQ) {
        float scores[MLP_MAX_WIDTH];
        int played = policy_decide(policy, state, scores);
        for (uint32_t a = 0; a < actions; a++)
            probabilities[a] = (int)a == played ? 1.0 : 0.0;
        return played >= 0;
    }
    if (!values_in_double(policy, state, values))
        return false;
    for (uint32_t a = 1; a < actions; a++)
        best = values[a] > values[best] ? a : best;
    double sum = 0.0;
    for (uint32_t a = 0; a < actions; a++) {
        double behind = values[a] - values[best];
        probabilities[a] = behind == 0.0 ? 1.0 : exp(behind / temperature);
        sum += probabilities[a];
    }
    for (uint32_t a = 0; a < actions; a++)
        probabilities[a] /= sum;
    return true;
}
