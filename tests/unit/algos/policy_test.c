/* How outputs become actions, the byte form of policies, and evaluation in a world. */
#include "algos/policy.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"

static struct policy *sample(enum policy_output output)
{
    const struct mlp_shape shape = {
        .input = 4, .layer_count = 2, .width = {9, 3}, .activation = MLP_TANH};
    struct policy *policy = policy_new(&shape, output);
    cr_assert_not_null(policy);
    struct rng rng;
    rng_seed(&rng, 4, 4);
    mlp_initialize(&shape, &rng, 1.0, policy->parameters);
    return policy;
}

static const float state[4] = {0.3F, -0.8F, 1.2F, 0.1F};

Test(policy, probabilities_are_the_softmax_of_outputs_over_temperature)
{
    struct policy *policy = sample(POLICY_Q);
    float q[3];
    double p[3], sum = 0.0;
    cr_assert(policy_values(policy, state, q));
    cr_assert(policy_probabilities(policy, state, 0.5, p));
    for (int a = 0; a < 3; a++)
        sum += p[a];
    cr_assert_float_eq(sum, 1.0, 1e-12);
    for (int a = 1; a < 3; a++)
        cr_assert_float_eq(log(p[a] / p[0]), ((double)q[a] - (double)q[0]) / 0.5, 1e-5);
    cr_assert_not(policy_probabilities(policy, state, 0.0, p));
    cr_assert_not(policy_probabilities(policy, state, (double)NAN, p));
    policy->output = POLICY_ARGMAX;
    cr_assert(policy_probabilities(policy, state, 0.5, p));
    for (uint32_t a = 0; a < 3; a++)
        cr_assert_eq(p[a], a == policy_best_action(q, 3) ? 1.0 : 0.0);
    policy_free(policy);
}

Test(policy, best_action_of_a_tie_is_the_lower_number)
{
    const float values[] = {1.0F, 3.0F, 3.0F, -1.0F};
    cr_assert_eq(policy_best_action(values, 4), 1);
    cr_assert_eq(policy_best_action(values, 1), 0);
}

Test(policy, outputs_that_are_not_finite_are_reported)
{
    struct policy *policy = sample(POLICY_Q);
    const float wild[4] = {NAN, 0.0F, 0.0F, 0.0F};
    float q[3];
    double p[3];
    cr_assert_not(policy_values(policy, wild, q));
    cr_assert_not(policy_probabilities(policy, wild, 1.0, p));
    policy_free(policy);
}

Test(policy, bytes_give_back_the_policy)
{
    for (int output = POLICY_SOFTMAX; output <= POLICY_Q; output++) {
        struct policy *policy = sample((enum policy_output)output);
        unsigned char *bytes = NULL;
        size_t size = 0;
        cr_assert(policy_to_bytes(policy, &bytes, &size));
        struct policy *back = policy_from_bytes(bytes, size);
        cr_assert_not_null(back);
        cr_assert_eq(back->output, policy->output);
        cr_assert_eq(memcmp(&back->shape, &policy->shape, sizeof back->shape), 0);
        cr_assert_eq(memcmp(back->parameters, policy->parameters,
                            mlp_parameter_count(&policy->shape) * sizeof(float)),
                     0);
        policy_free(back);
        policy_free(policy);
        free(bytes);
    }
}

static struct policy *two_heads(void)
{
    const struct mlp_shape shape = {.input = 4, .layer_count = 1, .width = {6}};
    struct policy *policy = policy_new(&shape, POLICY_BCQ);
    cr_assert_not_null(policy);
    policy->threshold = 0.3F;
    const float bias[6] = {3.0F, 2.0F, 1.0F, -1.5F, 0.0F, -1.0F}; /* G/max G: .22, 1, .37 */
    memcpy(policy->parameters + mlp_bias_offset(&shape, 0), bias, sizeof bias);
    return policy;
}

Test(policy, best_allowed_action_is_played_with_two_heads)
{
    struct policy *policy = two_heads();
    float values[3];
    double p[3];
    cr_assert_eq(policy_action_count(policy), 3);
    cr_assert_eq(policy_decide(policy, state, values), 1, "0 is better but too unlikely");
    cr_assert(values[0] == 3.0F && values[1] == 2.0F && values[2] == 1.0F);
    cr_assert(policy_probabilities(policy, state, 1.0, p));
    cr_assert(p[0] == 0.0 && p[1] == 1.0 && p[2] == 0.0);
    policy->threshold = 0.2F;
    cr_assert_eq(policy_decide(policy, state, values), 0);
    policy->threshold = 0.0F;
    policy->parameters[24 + 3] = -1e6F; /* G underflows: not above 0 */
    cr_assert_eq(policy_decide(policy, state, values), 1);
    policy->parameters[24 + 5] = NAN;
    cr_assert_eq(policy_decide(policy, state, values), -1, "a head that is not finite shows");
    const float flat[2] = {0.0F, 0.0F}, alike[2] = {1.0F, 1.0F};
    cr_assert_eq(policy_best_allowed(flat, alike, 2, 0.3F), 0, "ties go to the lower number");
    policy_free(policy);
}

Test(policy, bytes_of_two_heads_hold_the_threshold)
{
    struct policy *policy = two_heads();
    unsigned char *bytes = NULL;
    size_t size = 0;
    cr_assert(policy_to_bytes(policy, &bytes, &size));
    struct policy *back = policy_from_bytes(bytes, size);
    cr_assert_not_null(back);
    cr_assert_eq(back->output, POLICY_BCQ);
    cr_assert_eq(back->threshold, 0.3F);
    cr_assert_arr_eq(back->parameters, policy->parameters, 30 * sizeof(float));
    policy_free(back);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 1;
        cr_assert_null(policy_from_bytes(bytes, size), "byte %zu", i);
        bytes[i] ^= 1;
        cr_assert_null(policy_from_bytes(bytes, i), "cut at %zu", i);
    }
    free(bytes);
    const float broken[] = {1.0F, -0.1F, NAN};
    for (int i = 0; i < 3; i++) {
        policy->threshold = broken[i];
        cr_assert(policy_to_bytes(policy, &bytes, &size));
        cr_assert_null(policy_from_bytes(bytes, size), "a threshold of %g", (double)broken[i]);
        free(bytes);
    }
    policy_free(policy);
}

Test(policy, damaged_or_cut_bytes_are_no_policy)
{
    struct policy *policy = sample(POLICY_SOFTMAX);
    unsigned char *bytes = NULL;
    size_t size = 0;
    cr_assert(policy_to_bytes(policy, &bytes, &size));
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        cr_assert_null(policy_from_bytes(bytes, size), "byte %zu", i);
        bytes[i] ^= 0x10;
        cr_assert_null(policy_from_bytes(bytes, i), "cut at %zu", i);
    }
    cr_assert_null(policy_from_bytes(NULL, 0));
    free(bytes);
    policy->parameters[3] = INFINITY;
    cr_assert(policy_to_bytes(policy, &bytes, &size));
    cr_assert_null(policy_from_bytes(bytes, size), "a weight is not finite");
    free(bytes);
    policy_free(policy);
}

/* Pushes against the fall: theta and its speed, in one layer. */
static struct policy *balancer(double sign)
{
    const struct mlp_shape shape = {
        .input = 4, .layer_count = 1, .width = {2}, .activation = MLP_RELU};
    struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
    cr_assert_not_null(policy);
    const double gain[4] = {0.1, 0.4, 4.0, 1.0};
    for (int i = 0; i < 4; i++)
        policy->parameters[4 + i] = (float)(sign * gain[i]);
    return policy;
}

Test(policy, evaluation_tells_good_from_bad_and_repeats)
{
    const struct env *env = env_find("cartpole");
    cr_assert_not_null(env);
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(env, parameters);
    struct policy *good = balancer(1.0), *bad = balancer(-1.0);
    struct policy_evaluation first, again, low;
    cr_assert(policy_evaluate(good, env, parameters, 20, 200, 3, &first));
    cr_assert(policy_evaluate(good, env, parameters, 20, 200, 3, &again));
    cr_assert(policy_evaluate(bad, env, parameters, 20, 200, 3, &low));
    cr_assert_eq(first.mean_return, again.mean_return);
    cr_assert_eq(first.std_return, again.std_return);
    cr_assert_gt(first.mean_return, 150.0);
    cr_assert_leq(first.mean_return, 200.0);
    cr_assert_lt(low.mean_return, 15.0);
    cr_assert_gt(low.std_return, 0.0);
    cr_assert_eq(first.episodes, 20);
    cr_assert(policy_evaluate(good, env, parameters, 1, 200, 3, &low));
    cr_assert_eq(low.std_return, 0.0);
    cr_assert_not(policy_evaluate(good, env, parameters, 0, 200, 3, &low));
    policy_free(good);
    policy_free(bad);
}

Test(policy, evaluation_refuses_a_network_of_another_world)
{
    const struct env *env = env_find("cartpole");
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(env, parameters);
    struct policy *policy = sample(POLICY_Q); /* 3 actions, the world has 2 */
    struct policy_evaluation out;
    cr_assert_not(policy_evaluate(policy, env, parameters, 1, 10, 1, &out));
    policy_free(policy);
}
