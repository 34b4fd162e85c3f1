/* What many experts would do at a state: a table of networks and the mixing to the floor.
 *
 * DESIGN. Each expert has weights of its own, so nothing can be batched into a matrix product, and
 * one state asked of all is a walk through all weights: the loop goes expert by expert, and through
 * all states for each, so that weights are fetched from memory once. The networks are evaluated in
 * float32 by mlp_forward_one, whose order of operations is fixed, and the rest in double. */
#include "algos/offline/expert_policies.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

struct expert_policies {
    uint32_t experts, state_dim, actions;
    double floor;
    size_t bytes;
    struct policy **policy; /* experts; NULL: none */
};

struct expert_policies *expert_policies_new(uint32_t experts, uint32_t state_dim,
                                            uint32_t action_count, double min_action_probability)
{
    assert(experts > 0 && state_dim > 0 && action_count > 0 && action_count <= MLP_MAX_WIDTH);
    assert(min_action_probability >= 0.0 && min_action_probability * action_count <= 1.0);
    struct expert_policies *policies = memory_new(1, sizeof *policies);
    policies->experts = experts;
    policies->state_dim = state_dim;
    policies->actions = action_count;
    policies->floor = min_action_probability;
    policies->policy = memory_new(experts, sizeof(struct policy *));
    return policies;
}

void expert_policies_free(struct expert_policies *policies)
{
    if (!policies)
        return;
    for (uint32_t e = 0; e < policies->experts; e++)
        policy_free(policies->policy[e]);
    free(policies->policy);
    free(policies);
}

static size_t bytes_of(const struct policy *policy)
{
    return policy ? sizeof *policy + mlp_parameter_count(&policy->shape) * sizeof(float) : 0;
}

bool expert_policies_take(struct expert_policies *policies, uint32_t expert, struct policy *policy)
{
    const struct mlp_shape *shape = &policy->shape;
    if (expert >= policies->experts || shape->input != policies->state_dim ||
        shape->width[shape->layer_count - 1] != policies->actions)
        return false;
    policies->bytes += bytes_of(policy) - bytes_of(policies->policy[expert]);
    policy_free(policies->policy[expert]);
    policies->policy[expert] = policy;
    return true;
}

bool expert_policies_has(const struct expert_policies *policies, uint32_t expert)
{
    assert(expert < policies->experts);
    return policies->policy[expert] != NULL;
}

size_t expert_policies_bytes(const struct expert_policies *policies)
{
    return policies->bytes;
}

static void uniform_probabilities(uint32_t actions, double *probabilities)
{
    for (uint32_t a = 0; a < actions; a++)
        probabilities[a] = 1.0 / actions;
}

/* (1 - |A| floor) softmax(values) + floor; what rounding leaves of 1 - |A| floor is not negative.
 */
static void mixed_softmax(const float *values, uint32_t actions, double floor,
                          double *probabilities)
{
    double best = (double)values[policy_best_action(values, actions)], sum = 0.0;
    double share = fmax(0.0, 1.0 - actions * floor);
    for (uint32_t a = 0; a < actions; a++) {
        probabilities[a] = exp((double)values[a] - best);
        sum += probabilities[a];
    }
    for (uint32_t a = 0; a < actions; a++)
        probabilities[a] = share * (probabilities[a] / sum) + floor;
}

static void mixed_argmax(const float *values, uint32_t actions, double floor, double *probabilities)
{
    uint32_t best = policy_best_action(values, actions);
    for (uint32_t a = 0; a < actions; a++)
        probabilities[a] = floor;
    probabilities[best] = fmax(floor, 1.0 - (actions - 1.0) * floor);
}

static bool all_finite(const float *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return false;
    return true;
}

static void ask_one(const struct expert_policies *policies, const struct policy *policy,
                    const float *state, double *probabilities)
{
    float values[MLP_MAX_WIDTH];
    uint32_t actions = policies->actions;
    if (!policy || !all_finite(state, policies->state_dim) ||
        !policy_values(policy, state, values)) {
        uniform_probabilities(actions, probabilities);
        return;
    }
    if (policy->output == POLICY_SOFTMAX)
        mixed_softmax(values, actions, policies->floor, probabilities);
    else
        mixed_argmax(values, actions, policies->floor, probabilities);
}

void expert_policies_probabilities(const struct expert_policies *policies, uint32_t first,
                                   uint32_t count, const float *states, uint32_t state_count,
                                   double *probabilities)
{
    assert(first <= policies->experts && count <= policies->experts - first);
    double *row = probabilities;
    for (uint32_t e = first; e < first + count; e++)
        for (uint32_t s = 0; s < state_count; s++, row += policies->actions)
            ask_one(policies, policies->policy[e], states + (size_t)s * policies->state_dim, row);
}

static bool voice_present(const void *context, uint32_t expert)
{
    return expert_policies_has(context, expert);
}

static void voice_probabilities(const void *context, uint32_t first, uint32_t count,
                                const float *states, uint32_t state_count, double *probabilities)
{
    expert_policies_probabilities(context, first, count, states, state_count, probabilities);
}

struct expert_voices expert_policies_voices(const struct expert_policies *policies)
{
    return (struct expert_voices){.context = policies,
                                  .slots = policies->experts,
                                  .state_dim = policies->state_dim,
                                  .action_count = policies->actions,
                                  .min_probability = policies->floor,
                                  .present = voice_present,
                                  .probabilities = voice_probabilities};
}
