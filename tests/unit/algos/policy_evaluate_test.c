/* Evaluation side by side against episodes played one by one: the same numbers to the bit. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/nn/initialize.h"
#include "algos/policy.h"

/* A network that moves about: two hidden layers, large weights. */
static struct policy *wild_policy(const struct env *env, enum policy_output output, uint64_t seed)
{
    struct mlp_shape shape = {.input = env->state_dim,
                              .layer_count = 3,
                              .width = {24, 17, env->action_count},
                              .activation = MLP_RELU};
    struct policy *policy = policy_new(&shape, output);
    cr_assert_not_null(policy);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    mlp_initialize(&shape, &rng, 1.0, policy->parameters);
    return policy;
}

static uint32_t act(const struct policy *policy, const float *state, uint32_t actions,
                    struct rng *rng)
{
    if (policy->output != POLICY_SOFTMAX) {
        float values[ENV_MAX_ACTIONS];
        cr_assert(policy_values(policy, state, values));
        return policy_best_action(values, actions);
    }
    double p[ENV_MAX_ACTIONS] = {0};
    cr_assert(policy_probabilities(policy, state, 1.0, p));
    double u = rng_uniform(rng);
    uint32_t action = 0;
    while (action + 1 < actions && u >= p[action])
        u -= p[action++];
    return action;
}

static double episode_return(const struct policy *policy, const struct env *env,
                             const double *parameters, uint32_t max_steps, struct rng *rng)
{
    double seen[ENV_MAX_STATE_DIM], sum = 0.0;
    void *world = env_open(env);
    cr_assert(world && env->reset(world, parameters, rng, seen));
    for (uint32_t t = 0; t < max_steps; t++) {
        float state[ENV_MAX_STATE_DIM];
        for (unsigned k = 0; k < env->state_dim; k++)
            state[k] = (float)seen[k];
        uint32_t action = act(policy, state, env->action_count, rng);
        struct env_outcome outcome = env->step(world, parameters, action, rng, seen);
        sum += outcome.reward;
        if (outcome.terminated)
            break;
    }
    env_close(env, world);
    return sum;
}

static void compare(const struct env *env, enum policy_output output, uint32_t episodes,
                    uint32_t max_steps)
{
    double parameters[ENV_MAX_PARAMETERS], mean = 0.0, squares = 0.0;
    env_defaults(env, parameters);
    parameters[0] *= 1.05;
    struct policy *policy = wild_policy(env, output, episodes);
    for (uint32_t e = 0; e < episodes; e++) {
        struct rng rng;
        rng_seed(&rng, 77, e);
        double value = episode_return(policy, env, parameters, max_steps, &rng);
        double difference = value - mean;
        mean += difference / (e + 1.0);
        squares += difference * (value - mean);
    }
    struct policy_evaluation out;
    cr_assert(policy_evaluate(policy, env, parameters, episodes, max_steps, 77, &out));
    cr_assert_eq(out.episodes, episodes);
    cr_assert_eq(out.mean_return, mean, "%s, %u episodes: %.17g, not %.17g", env->name, episodes,
                 out.mean_return, mean);
    cr_assert_eq(out.std_return, episodes > 1 ? sqrt(squares / (episodes - 1.0)) : 0.0);
    policy_free(policy);
}

Test(policy_evaluate, episodes_side_by_side_are_those_played_one_by_one)
{
    unsigned count;
    const struct env *const *all = env_all(&count);
    static const uint32_t episodes[] = {1, 9, 14, 300};
    for (unsigned w = 0; w < count; w++) {
        bool slow = all[w]->step_work > 0 || all[w]->open;
        for (size_t n = 0; n < sizeof episodes / sizeof episodes[0] - (slow ? 1 : 0); n++) {
            compare(all[w], POLICY_ARGMAX, episodes[n], slow ? 20 : 200);
            compare(all[w], POLICY_SOFTMAX, episodes[n], slow ? 20 : 60);
        }
    }
}

Test(policy_evaluate, nothing_to_play_or_numbers_that_are_none_are_refused)
{
    const struct env *env = env_find("cartpole");
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(env, parameters);
    struct policy_evaluation out;
    for (int output = POLICY_SOFTMAX; output <= POLICY_Q; output++) {
        struct policy *policy = wild_policy(env, (enum policy_output)output, 1);
        cr_assert(policy_evaluate(policy, env, parameters, 3, 10, 1, &out));
        cr_assert_not(policy_evaluate(policy, env, parameters, 0, 10, 1, &out));
        cr_assert_not(policy_evaluate(policy, env, parameters, 3, 0, 1, &out));
        cr_assert_not(policy_evaluate(policy, env_find("acrobot"), parameters, 3, 10, 1, &out));
        cr_assert_not(out.broken || out.not_finite);
        policy->parameters[mlp_parameter_count(&policy->shape) - 1] = NAN;
        cr_assert_not(policy_evaluate(policy, env, parameters, 3, 10, 1, &out));
        cr_assert(out.not_finite && !out.broken);
        policy_free(policy);
    }
}

static bool does_not_open(const struct env *env, void *state)
{
    (void)env;
    (void)state;
    return false;
}

static void closes(void *state)
{
    (void)state;
}

static struct env_outcome breaks(void *state, const double *parameters, unsigned action,
                                 struct rng *rng, double *observation)
{
    (void)state;
    (void)parameters;
    (void)action;
    (void)rng;
    (void)observation;
    return (struct env_outcome){.failed = true};
}

Test(policy_evaluate, a_world_that_breaks_says_nothing_of_the_policy)
{
    const struct env *env = env_find("cartpole");
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(env, parameters);
    struct env shut = *env, frail = *env;
    shut.step_lanes = frail.step_lanes = NULL;
    shut.open = does_not_open;
    shut.close = closes;
    frail.step = breaks;
    struct policy *policy = wild_policy(env, POLICY_ARGMAX, 1);
    struct policy_evaluation out;
    cr_assert_not(policy_evaluate(policy, &shut, parameters, 3, 10, 1, &out));
    cr_assert(out.broken && !out.not_finite);
    cr_assert_not(policy_evaluate(policy, &frail, parameters, 3, 10, 1, &out));
    cr_assert(out.broken && !out.not_finite);
    policy_free(policy);
}
