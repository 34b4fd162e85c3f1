/* Private gradient collection with simulated agents. */
#include "algos/online/pgc_a3c.h"

#include <criterion/criterion.h>
#include <string.h>

#include "algos/online/online_run.h"
#include "tests/unit/algos/online_kit.h"

static void small(struct online_kit *kit)
{
    online_kit_set(kit, "agents", 95);
    online_kit_set(kit, "buffer", 10);
}

static void small_signs(struct online_kit *kit)
{
    small(kit);
    online_kit_set(kit, "randomiser", 3);
}

static void greedy(struct online_kit *kit)
{
    small(kit);
    online_kit_set(kit, "actions", 1);
    online_kit_set(kit, "return_steps", 5);
    online_kit_set(kit, "loss", 1);
}

/* What greedy agents learn for is a policy that plays greedily. */
Test(pgc_a3c, gives_the_policy_that_its_agents_play)
{
    for (int k = 0; k < 2; k++) {
        struct online_kit kit;
        online_kit_init(&kit, "pgc_a3c", MECHANISM_NONE, "cartpole", 1);
        if (k == 1)
            greedy(&kit);
        else
            small(&kit);
        struct policy *policy = online_kit_policy(&kit);
        cr_expect_eq(policy->output, k == 1 ? POLICY_ARGMAX : POLICY_SOFTMAX);
        policy_free(policy);
        online_kit_clear(&kit);
    }
}

Test(pgc_a3c, goes_on_where_it_stopped)
{
    online_kit_resume("pgc_a3c", MECHANISM_NONE, greedy, 4);
    online_kit_resume("pgc_a3c", MECHANISM_NONE, small, 4);
    online_kit_resume("pgc_a3c", MECHANISM_LOCAL_REPORTS, small, 4);
    online_kit_resume("pgc_a3c", MECHANISM_LOCAL_REPORTS, small_signs, 4);
}

/* A checkpoint names its run by the parameters that there were before "actions", unless a later one
 * has another value than what was done before. */
Test(pgc_a3c, goes_on_from_checkpoints_that_are_older_than_a_parameter)
{
    static const char *const later[] = {NULL, "actions", "return_steps", "loss"};
    for (size_t i = 0; i < 4; i++) {
        struct online_kit kit;
        struct policy *policy;
        const char *message;
        uint64_t found;
        online_kit_init(&kit, "pgc_a3c", MECHANISM_NONE, "cartpole", 1);
        small(&kit);
        if (later[i])
            online_kit_set(&kit, later[i], 1);
        cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK);
        kit.stop_at = 2;
        kit.order = PULSE_SAVE_AND_PAUSE;
        cr_assert_eq(online_kit_run(&kit, NULL, 0, &policy, &message), ALGORITHM_PAUSED);
        memcpy(&found, kit.bytes + 2 * sizeof(uint32_t), sizeof found);
        const struct algorithm_run run = {.request = &kit.request, .plan = &kit.plan};
        int before =
            parameters_index(kit.algorithm->parameters, kit.algorithm->parameter_count, "actions");
        uint64_t older = online_fingerprint(&run, (unsigned)before);
        cr_expect_eq(found == older, later[i] == NULL, "%zu", i);
        online_kit_clear(&kit);
    }
}

Test(pgc_a3c, costs_what_one_report_costs)
{
    for (int randomiser = 0; randomiser < 4; randomiser++) {
        struct online_kit kit;
        const char *message;
        online_kit_init(&kit, "pgc_a3c", MECHANISM_LOCAL_REPORTS, "cartpole", 1);
        online_kit_set(&kit, "randomiser", randomiser);
        cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK, "%s", message);
        double few = kit.plan.privacy.epsilon;
        cr_expect(few <= 5.0 && few > 4.9, "%g", few);
        cr_expect_eq(kit.plan.privacy.delta, 0.0);
        cr_expect_eq(kit.plan.privacy.epsilon_lower, 0.0);
        online_kit_set(&kit, "agents", 1000000);
        cr_assert_eq(online_kit_plan(&kit, &message), ALGORITHM_OK);
        cr_expect_eq(kit.plan.privacy.epsilon, few);
        cr_expect_eq(kit.plan.total_steps, 10000);
        struct statement statement = {0};
        kit.algorithm->describe(&kit.request, &kit.plan, "cartpole", &statement);
        cr_expect_str_eq(statement.unit, "agent");
        kit.request.epsilon = 41.0;
        cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
        online_kit_clear(&kit);
    }
}

Test(pgc_a3c, refuses_a_spread_that_means_nothing)
{
    struct online_kit kit;
    const char *message;
    online_kit_init(&kit, "pgc_a3c", MECHANISM_NONE, "hiv", 1);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_OK);
    online_kit_set(&kit, "gravity_spread", 0.1);
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    cr_expect_not_null(strstr(message, "gravity"));
    online_kit_clear(&kit);
    online_kit_init(&kit, "pgc_a3c", MECHANISM_NONE, "cartpole", 1);
    online_kit_set(&kit, "gravity_spread", 9.75); /* below the least gravity */
    cr_expect_eq(online_kit_plan(&kit, &message), ALGORITHM_BAD_INPUT);
    online_kit_clear(&kit);
}

/* One update by hand: the mean of what the agents' reports decode to moves the parameters. */
Test(pgc_a3c, an_update_is_the_mean_of_the_buffer)
{
    const struct env *world = env_find("cartpole");
    double physics[ENV_MAX_PARAMETERS], expected[112] = {0}, gradient[112];
    env_defaults(world, physics);
    const struct pgc_settings settings = {.net = {4, 16, 2},
                                          .loss = {0.99, 0.5, 0.01, 0, false},
                                          .exploration = {0.5, 0.1}, /* falls with every report */
                                          .buffer = 3,
                                          .max_steps = 200,
                                          .learning_rate = 0.25,
                                          .seed = 11,
                                          .world = world,
                                          .physics = physics};
    struct pgc pgc;
    struct a3c_episode episode;
    cr_assert(pgc_init(&pgc, &settings));
    a3c_episode_init(&episode, &settings.net, 200);
    cr_assert_eq(pgc.count, 112);
    float first[112];
    memcpy(first, pgc.parameters, sizeof first);
    void *state = env_open(world);
    for (uint64_t agent = 0; agent < 3; agent++) {
        struct rng rng;
        rng_seed(&rng, 11, 1 + agent);
        double exploration = 0.5 - 0.1 * (double)agent;
        cr_assert(a3c_play(&episode, &settings.net, first, world, state, physics,
                           (struct a3c_choice){.exploration = exploration}, &rng));
        cr_assert(a3c_gradient(&episode, &settings.net, first, &settings.loss, gradient));
        for (int i = 0; i < 112; i++)
            expected[i] += gradient[i] / 3.0;
    }
    cr_assert(pgc_update(&pgc, NULL, NULL));
    double moved = 0.0;
    for (int i = 0; i < 112; i++) {
        double to = first[i] - 0.25 * expected[i];
        cr_expect_float_eq(pgc.parameters[i], to, 1e-4 * (1.0 + (to < 0 ? -to : to)));
        moved += expected[i] * expected[i];
    }
    cr_expect_gt(moved, 0.0);
    env_close(world, state);
    a3c_episode_clear(&episode);
    pgc_clear(&pgc);
}
