/* All experts' policies at once: the floor, the two ways of playing, and independence. */
#include "algos/offline/expert_policies.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"

enum { EXPERTS = 7, STATES = 3, STATE_DIM = 4, ACTIONS = 3 };
static const double floor_of_all = 0.02;

static const float states[STATES * STATE_DIM] = {0.3F,  -0.8F, 1.2F, 0.1F, 0.0F,  0.0F,
                                                 -2.5F, 4.0F,  9.0F, 0.5F, -0.1F, -7.0F};

static struct policy *network(uint64_t seed, enum policy_output output, double gain)
{
    const struct mlp_shape shape = {
        .input = STATE_DIM, .layer_count = 2, .width = {11, ACTIONS}, .activation = MLP_TANH};
    struct policy *policy = policy_new(&shape, output);
    cr_assert_not_null(policy);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    mlp_initialize(&shape, &rng, gain, policy->parameters);
    return policy;
}

/* Slots 0 .. EXPERTS - 2 have a network, by turns softmax, argmax and Q; the last has none. */
static struct expert_policies *population(uint64_t changed_seed)
{
    struct expert_policies *policies =
        expert_policies_new(EXPERTS, STATE_DIM, ACTIONS, floor_of_all);
    cr_assert_not_null(policies);
    for (uint32_t e = 0; e + 1 < EXPERTS; e++) {
        uint64_t seed = e == 2 ? changed_seed : 100 + e;
        cr_assert(
            expert_policies_take(policies, e, network(seed, (enum policy_output)(e % 3), 3.0)));
    }
    return policies;
}

static const double *row(const double *probabilities, uint32_t expert, uint32_t state)
{
    return probabilities + ((size_t)expert * STATES + state) * ACTIONS;
}

static void ask_all(const struct expert_policies *policies, double *probabilities)
{
    expert_policies_probabilities(policies, 0, EXPERTS, states, STATES, probabilities);
}

Test(expert_policies, rows_sum_to_one_and_keep_the_floor)
{
    struct expert_policies *policies = population(1);
    double p[EXPERTS * STATES * ACTIONS];
    ask_all(policies, p);
    for (uint32_t i = 0; i < EXPERTS * STATES; i++) {
        double sum = 0.0;
        for (uint32_t a = 0; a < ACTIONS; a++) {
            cr_assert_geq(p[i * ACTIONS + a], floor_of_all);
            sum += p[i * ACTIONS + a];
        }
        cr_assert_float_eq(sum, 1.0, 1e-15 * 8);
    }
    expert_policies_free(policies);
}

Test(expert_policies, softmax_is_mixed_and_the_best_of_the_others_is_played)
{
    struct expert_policies *policies = population(1);
    double p[EXPERTS * STATES * ACTIONS];
    ask_all(policies, p);
    for (uint32_t e = 0; e + 1 < EXPERTS; e++) {
        enum policy_output output = (enum policy_output)(e % 3);
        struct policy *alone = network(e == 2 ? 1 : 100 + e, output, 3.0);
        for (uint32_t s = 0; s < STATES; s++) {
            double pure[ACTIONS];
            cr_assert(policy_probabilities(alone, states + s * STATE_DIM, 1.0, pure));
            float values[ACTIONS];
            cr_assert(policy_values(alone, states + s * STATE_DIM, values));
            uint32_t best = policy_best_action(values, ACTIONS);
            for (uint32_t a = 0; a < ACTIONS; a++) {
                double expected = output == POLICY_SOFTMAX
                                      ? (1.0 - ACTIONS * floor_of_all) * pure[a] + floor_of_all
                                  : a == best ? 1.0 - (ACTIONS - 1) * floor_of_all
                                              : floor_of_all;
                cr_assert_float_eq(row(p, e, s)[a], expected, 1e-5);
            }
        }
        policy_free(alone);
    }
    for (uint32_t a = 0; a < ACTIONS; a++)
        cr_assert_eq(row(p, EXPERTS - 1, 0)[a], 1.0 / ACTIONS);
    expert_policies_free(policies);
}

/* One expert's network moves its own rows alone, and neither range nor number of states matters. */
Test(expert_policies, an_answer_depends_on_that_expert_and_that_state)
{
    struct expert_policies *one = population(1), *other = population(2);
    double p[EXPERTS * STATES * ACTIONS], q[EXPERTS * STATES * ACTIONS], alone[ACTIONS];
    ask_all(one, p);
    ask_all(other, q);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        bool same = memcmp(row(p, e, 0), row(q, e, 0), STATES * ACTIONS * sizeof *p) == 0;
        cr_assert_eq(same, e != 2, "expert %u", e);
        for (uint32_t s = 0; s < STATES; s++) {
            expert_policies_probabilities(one, e, 1, states + s * STATE_DIM, 1, alone);
            cr_assert_arr_eq(alone, row(p, e, s), sizeof alone);
        }
    }
    expert_policies_free(one);
    expert_policies_free(other);
}

Test(expert_policies, what_is_not_finite_is_played_uniformly)
{
    struct expert_policies *policies = population(1);
    struct policy *huge = network(5, POLICY_SOFTMAX, 1.0);
    for (size_t i = 0; i < mlp_parameter_count(&huge->shape); i++)
        huge->parameters[i] = 3e38F;
    cr_assert(expert_policies_take(policies, 1, huge));
    double p[EXPERTS * STATES * ACTIONS];
    ask_all(policies, p);
    for (uint32_t a = 0; a < ACTIONS; a++)
        cr_assert_eq(row(p, 1, 0)[a], 1.0 / ACTIONS);
    const float wild[STATE_DIM] = {0.0F, INFINITY, 0.0F, 0.0F};
    expert_policies_probabilities(policies, 0, EXPERTS, wild, 1, p);
    for (uint32_t i = 0; i < EXPERTS * ACTIONS; i++)
        cr_assert_eq(p[i], 1.0 / ACTIONS);
    expert_policies_free(policies);
}

Test(expert_policies, the_greatest_floor_leaves_the_uniform_policy)
{
    for (uint32_t output = 0; output < 2; output++) {
        struct expert_policies *policies = expert_policies_new(1, STATE_DIM, ACTIONS, 1.0 / 3.0);
        cr_assert(expert_policies_take(policies, 0, network(3, (enum policy_output)output, 9.0)));
        double p[ACTIONS];
        expert_policies_probabilities(policies, 0, 1, states, 1, p);
        for (uint32_t a = 0; a < ACTIONS; a++) {
            cr_assert_geq(p[a], 1.0 / 3.0);
            cr_assert_float_eq(p[a], 1.0 / 3.0, 1e-15);
        }
        expert_policies_free(policies);
    }
}

Test(expert_policies, a_network_of_other_sizes_is_refused_and_bytes_are_counted)
{
    struct expert_policies *policies = expert_policies_new(2, STATE_DIM + 1, ACTIONS, 0.1);
    struct policy *policy = network(3, POLICY_SOFTMAX, 1.0);
    cr_assert_not(expert_policies_take(policies, 0, policy));
    expert_policies_free(policies);
    policies = expert_policies_new(2, STATE_DIM, ACTIONS, 0.1);
    cr_assert_not(expert_policies_take(policies, 2, policy));
    cr_assert_eq(expert_policies_bytes(policies), 0);
    cr_assert_not(expert_policies_has(policies, 1));
    cr_assert(expert_policies_take(policies, 1, policy));
    cr_assert(expert_policies_has(policies, 1));
    size_t bytes = expert_policies_bytes(policies);
    cr_assert_geq(bytes, mlp_parameter_count(&policy->shape) * sizeof(float));
    cr_assert(expert_policies_take(policies, 1, network(4, POLICY_ARGMAX, 1.0)));
    cr_assert_eq(expert_policies_bytes(policies), bytes);
    expert_policies_free(policies);
}
