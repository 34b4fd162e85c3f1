/* Fitted Q evaluation in a world whose values are known: two states, of which the second pays. */
#include "algos/offline/judge/fitted_q.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envs/rng.h"

/* State 0 and 1, shown as (1, 0) and (0, 1). Action 0 stays, action 1 changes; a step that ends in
 * state 1 pays 1. ENDS: to stay in state 1 is the end. */
enum { TRAJECTORIES = 300, LENGTH = 12 };
static const double discount = 0.8;

static void show(unsigned state, float *out)
{
    out[0] = state == 0;
    out[1] = state == 1;
}

static struct dataset *play(bool ends, uint64_t seed)
{
    struct dataset_builder *builder = dataset_builder_new(2, 2, 3);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    for (uint32_t i = 0; i < TRAJECTORIES; i++) {
        float states[(LENGTH + 1) * 2], rewards[LENGTH];
        uint16_t actions[LENGTH];
        unsigned state = 0;
        struct trajectory one = {
            .expert = i % 3, .states = states, .actions = actions, .rewards = rewards};
        show(state, states);
        while (one.length < LENGTH && !one.terminated) {
            uint32_t t = one.length++;
            actions[t] = (uint16_t)(rng_next(&rng) >> 63);
            one.terminated = ends && state == 1 && actions[t] == 0;
            state ^= actions[t];
            rewards[t] = (float)state;
            show(state, states + 2 * one.length);
        }
        one.truncated = !one.terminated;
        cr_assert(dataset_builder_add(builder, &one));
    }
    return dataset_builder_finish(builder);
}

/* Changes with probability P in both states. */
static struct policy *changing(double p)
{
    const struct mlp_shape shape = {.input = 2, .layer_count = 1, .width = {2}};
    struct policy *policy = policy_new(&shape, POLICY_SOFTMAX);
    cr_assert_not_null(policy);
    policy->parameters[5] = (float)log(p / (1 - p)); /* bias of action 1 */
    return policy;
}

/* v0 = p (1 + g v1) + (1 - p) g v0 and v1 = p g v0 + (1 - p)(1 + g v1 [not the end]). */
static double exact(double p, bool ends)
{
    double g = discount, stay = ends ? 0 : g;
    /* From the second: v1 (1 - (1 - p) stay) = p g v0 + (1 - p). */
    double a = p * g / (1 - (1 - p) * stay), b = (1 - p) / (1 - (1 - p) * stay);
    return p * (1 + g * b) / (1 - (1 - p) * g - p * g * a);
}

static struct fitted_q_settings small(void)
{
    struct fitted_q_settings settings = fitted_q_defaults(discount);
    settings.hidden_layers = 1;
    settings.hidden_width = 16;
    settings.iterations = 40;
    settings.steps = 100;
    settings.batch_size = 64;
    settings.learning_rate = 0.01;
    return settings;
}

static struct fitted_q_result evaluate(const struct fitted_q_settings *settings,
                                       const struct policy *policy, const struct dataset *data)
{
    struct fitted_q_result result = {0};
    const char *message = NULL;
    cr_assert_eq(fitted_q_evaluate(settings, policy, data, 7, NULL, NULL, &result, &message),
                 ALGORITHM_OK, "%s", message);
    return result;
}

/* Values between 1.6 and 2.9, by whoever behaved otherwise. */
Test(fitted_q, finds_the_value_that_is_known)
{
    const struct fitted_q_settings settings = small();
    for (int ends = 0; ends < 2; ends++) {
        struct dataset *data = play(ends, 5);
        for (int i = 1; i <= 3; i++) {
            struct policy *policy = changing(0.25 * i);
            struct fitted_q_result result = evaluate(&settings, policy, data);
            double known = exact(0.25 * i, ends);
            cr_assert_float_eq(result.value, known, 0.05 * known, "%d %d: %g, not %g", ends, i,
                               result.value, known);
            cr_assert_eq(result.starts, TRAJECTORIES / 5);
            cr_assert_lt(result.standard_error, 1e-3, "all begin alike");
            cr_assert_lt(result.residual, 0.1, "%g", result.residual);
            policy_free(policy);
        }
        dataset_free(data);
    }
}

/* What is played for certain; rewards of another size; the same bits again. */
Test(fitted_q, policies_that_do_not_draw_and_scales)
{
    struct fitted_q_settings settings = small();
    struct dataset *data = play(false, 6);
    struct policy *policy = changing(0.9);
    policy->output = POLICY_ARGMAX; /* always changes: 1, 0, 1, 0, ... */
    struct fitted_q_result one = evaluate(&settings, policy, data);
    double known = 1 / (1 - discount * discount);
    cr_assert_float_eq(one.value, known, 0.05 * known, "%g", one.value);
    struct fitted_q_result again = evaluate(&settings, policy, data);
    cr_assert_eq(memcmp(&one, &again, sizeof one), 0);
    for (uint64_t t = 0; t < data->transition_count; t++)
        data->rewards[t] *= 1e6F;
    settings.reward_scale = 1e-6;
    struct fitted_q_result large = evaluate(&settings, policy, data);
    cr_assert_float_eq(large.value, 1e6 * one.value, 1e4, "%g", large.value);
    policy_free(policy);
    dataset_free(data);
}

/* States as numbers of 96 .. 160 are normalised to what they were, to the bit. */
Test(fitted_q, normalises_states_by_public_ranges)
{
    struct fitted_q_settings settings = small();
    struct dataset *data = play(false, 6);
    struct policy *policy = changing(0.5);
    struct fitted_q_result plain = evaluate(&settings, policy, data);
    struct features *features = features_new(2);
    for (uint32_t d = 0; d < 2; d++)
        features->range[d] = (struct feature_range){96, 160};
    uint64_t numbers = 2 * (data->transition_count + data->trajectory_count);
    for (uint64_t i = 0; i < numbers; i++)
        data->states[i] = 128 + 32 * data->states[i];
    settings.features = features;
    struct fitted_q_result natural = evaluate(&settings, policy, data);
    cr_expect_eq(memcmp(&plain, &natural, sizeof plain), 0);
    free(features);
    policy_free(policy);
    dataset_free(data);
}

static bool no(void *context)
{
    return ++*(int *)context < 2;
}

Test(fitted_q, refuses_and_stops)
{
    struct fitted_q_settings settings = small();
    struct dataset *data = play(false, 6);
    struct policy *policy = changing(0.5);
    struct fitted_q_result result;
    const char *message = NULL;
    int asked = 0;
    cr_assert_eq(fitted_q_evaluate(&settings, policy, data, 1, no, &asked, &result, &message),
                 ALGORITHM_CANCELLED);
    cr_assert_eq(asked, 2);
    /* Not between iterations alone: to ask a large policy at all states takes long, too. */
    settings.iterations = 1;
    asked = 0;
    cr_assert_eq(fitted_q_evaluate(&settings, policy, data, 1, no, &asked, &result, &message),
                 ALGORITHM_CANCELLED);
    settings.iterations = 40;
    policy->parameters[0] = NAN;
    cr_assert_eq(fitted_q_evaluate(&settings, policy, data, 1, NULL, NULL, &result, &message),
                 ALGORITHM_BAD_INPUT);
    cr_assert_neq(strstr(message, "finite"), NULL);
    policy->parameters[0] = 0;
    settings.hold_out = 1;
    cr_assert_eq(fitted_q_evaluate(&settings, policy, data, 1, NULL, NULL, &result, &message),
                 ALGORITHM_BAD_INPUT);
    settings.hold_out = 1000;
    cr_assert_eq(fitted_q_evaluate(&settings, policy, data, 1, NULL, NULL, &result, &message),
                 ALGORITHM_BAD_INPUT);
    cr_assert_neq(strstr(message, "trajectories"), NULL);
    policy_free(policy);
    const struct mlp_shape wide = {.input = 3, .layer_count = 1, .width = {2}};
    policy = policy_new(&wide, POLICY_Q);
    settings.hold_out = 5;
    cr_assert_eq(fitted_q_evaluate(&settings, policy, data, 1, NULL, NULL, &result, &message),
                 ALGORITHM_BAD_INPUT);
    policy_free(policy);
    dataset_free(data);
}
