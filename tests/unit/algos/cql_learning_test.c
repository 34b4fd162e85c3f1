/* The whole way: controllers of CartPole of very different quality, a private run with the default
 * settings, and a policy that balances far longer than chance (22 of 200 steps). */
#include <criterion/criterion.h>

#include "algos/offline/cql.h"

enum { EXPERTS = 300, TRAJECTORIES = 20, CAP = 200, DIM = 4 };

struct controller {
    double gain[DIM], bias;
};

/* Sound gains, spoiled for some by large errors. */
static struct controller draw_controller(struct rng *rng)
{
    const double sound[DIM] = {0.3, 0.8, 6.0, 1.5};
    struct controller c;
    double error = 1.0 - rng_uniform(rng);
    for (int i = 0; i < DIM; i++)
        c.gain[i] = sound[i] * rng_between(rng, 0.2, 1.8) + 3.0 * error * rng_normal(rng);
    c.bias = 0.4 * error * rng_normal(rng);
    return c;
}

static void play(struct dataset_builder *builder, const struct env *env, uint32_t expert,
                 const struct controller *c, struct rng *rng)
{
    double world[16], physics[ENV_MAX_PARAMETERS], seen[DIM];
    float states[(CAP + 1) * DIM], rewards[CAP];
    uint16_t actions[CAP];
    struct trajectory trajectory = {
        .expert = expert, .states = states, .actions = actions, .rewards = rewards};
    cr_assert_leq(env->state_size, sizeof world);
    env_defaults(env, physics);
    env->reset(world, physics, rng, seen);
    uint32_t t = 0;
    while (t < CAP && !trajectory.terminated) {
        double push = c->bias;
        for (int i = 0; i < DIM; i++) {
            states[t * DIM + (uint32_t)i] = (float)seen[i];
            push += c->gain[i] * seen[i];
        }
        actions[t] = push > 0.0;
        if (rng_uniform(rng) < 0.02)
            actions[t] = !actions[t];
        struct env_outcome outcome = env->step(world, physics, actions[t], rng, seen);
        rewards[t++] = (float)outcome.reward;
        trajectory.terminated = outcome.terminated;
    }
    for (int i = 0; i < DIM; i++)
        states[t * DIM + (uint32_t)i] = (float)seen[i];
    trajectory.length = t;
    trajectory.truncated = !trajectory.terminated;
    cr_assert(dataset_builder_add(builder, &trajectory));
}

static struct dataset *make_data(const struct env *env)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 2, EXPERTS);
    cr_assert(env && builder);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        struct rng rng;
        rng_seed(&rng, 5, e);
        struct controller controller = draw_controller(&rng);
        for (int t = 0; t < TRAJECTORIES; t++)
            play(builder, env, e, &controller, &rng);
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

/* Of 50 episodes of what the default settings learn with NEXT_ACTION. */
static double mean_return(double next_action)
{
    const struct env *env = env_find("cartpole");
    struct dataset *data = make_data(env);
    struct algorithm_request request = {.mechanism = MECHANISM_DPSGD,
                                        .epsilon = 10,
                                        .delta = 1e-5,
                                        .discount = 0.99,
                                        .state_dim = DIM,
                                        .action_count = 2,
                                        .nominal_experts = EXPERTS,
                                        .seed = 1};
    algorithm_defaults(&cql_algorithm, env->name, &request.parameters);
    int index =
        parameters_index(cql_algorithm.parameters, cql_algorithm.parameter_count, "next_action");
    request.parameters.value[index].number[0] = next_action;
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    const uint8_t key[32] = {3};
    struct noise_source *noise = noise_source_new_injected(key);
    cr_assert_not_null(noise);
    const struct algorithm_run run = {
        .request = &request, .plan = &plan, .data = data, .noise = noise};
    struct policy *policy = NULL;
    cr_assert_eq(cql_algorithm.train(&run, &policy, &message), ALGORITHM_OK);
    cr_assert(policy->injected_noise, "what is drawn from a given key says so");
    double physics[ENV_MAX_PARAMETERS];
    env_defaults(env, physics);
    struct policy_evaluation result;
    cr_assert(policy_evaluate(policy, env, physics, 50, CAP, 1, &result));
    policy_free(policy);
    noise_source_free(noise);
    dataset_free(data);
    return result.mean_return;
}

Test(cql_learning, private_policy_of_unequal_experts_balances)
{
    double found = mean_return(0);
    cr_assert_gt(found, 100.0, "only %.1f of 200", found);
}

Test(cql_learning, so_does_one_whose_targets_choose_for_themselves)
{
    double found = mean_return(1);
    cr_assert_gt(found, 100.0, "only %.1f of 200", found);
}
