/* A policy's outputs and its action. Its byte form: policy_bytes.c; how it does in a world:
 * policy_evaluate.c. */
#include "algos/policy.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

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
