/* Behaviour cloning: the network's outputs are logits of a policy, fitted by maximum likelihood
 * (Pomerleau 1991). For a transition (s, a):
 *
 *   loss = log sum_b exp f(s, b) - f(s, a)
 *   dloss/df(s, b) = softmax(f(s, .))_b - [b = a]
 *
 * Rewards and next states are not read: nothing bootstraps, so there is no target network. The
 * mixture of all experts is what it learns; weight_power says how much those with long episodes
 * count. */
#include "algos/offline/behaviour_cloning.h"

#include "algos/offline/offline.h"

static const struct parameter_spec specs[OFFLINE_COMMON_COUNT] = {OFFLINE_PARAMETERS};

static const struct parameter_override overrides[] = {OFFLINE_OVERRIDES};

static const struct offline_kind kind = {.parameters = specs,
                                         .parameter_count = OFFLINE_COMMON_COUNT,
                                         .outputs_per_action = 1,
                                         .output = POLICY_SOFTMAX};

float behaviour_cloning_loss(const float *logits, uint32_t actions, uint32_t action,
                             float *gradient)
{
    float log_sum = offline_softmax(logits, actions, 1.0F, gradient);
    gradient[action] -= 1.0F;
    return log_sum - logits[action];
}

static void cloning_errors(const void *context, const struct trainer_rows *rows)
{
    const uint32_t actions = *(const uint32_t *)context;
    for (uint32_t i = 0; i < rows->count; i++) {
        size_t row = (size_t)i * actions;
        (void)behaviour_cloning_loss(rows->online + row, actions, rows->actions[i],
                                     rows->error + row);
    }
}

static enum algorithm_status cloning_plan(const struct algorithm_request *request,
                                          struct algorithm_plan *out, const char **message)
{
    return offline_plan(&kind, request, out, message);
}

static enum algorithm_status cloning_train(const struct algorithm_run *run,
                                           struct policy **out_policy, const char **message)
{
    return offline_train(&kind, run, cloning_errors, &run->request->action_count, out_policy,
                         message);
}

static const struct parameter_later later[] = {OFFLINE_LATER};

const struct algorithm behaviour_cloning_algorithm = {
    .name = "behaviour_cloning",
    .summary = "A stochastic policy that imitates the experts, from logged trajectories.",
    .mechanisms = OFFLINE_MECHANISMS,
    .kind = ALGORITHM_LEARNS_FROM_DATA,
    .target = TARGET_ACTIONS,
    .privacy_unit = "expert",
    .parameters = specs,
    .parameter_count = OFFLINE_COMMON_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .later = later,
    .later_count = sizeof later / sizeof later[0],
    .plan = cloning_plan,
    .train = cloning_train,
};
