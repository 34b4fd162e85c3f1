/* LunarLander's defaults in a world of one dimension: experts who mostly stay in the air, where
 * nothing is to be had, and sometimes sink, where 100 waits at the ground. An alpha that is too
 * large for scaled rewards makes the usual action's value grow with every target, and the craft
 * hovers for ever. */
#include <criterion/criterion.h>

#include "algos/offline/cql.h"
#include "algos/offline/offline.h"

enum { EXPERTS = 40, TRAJECTORIES = 5, CAP = 100, FLOORS = 6, DIM = 8, ACTIONS = 4 };
enum { STAY = 0, SINK = 2 };

static void show(float *state, uint32_t height)
{
    for (int i = 0; i < DIM; i++)
        state[i] = 0.0F;
    state[1] = (float)height / FLOORS;
    state[6] = height == 0;
}

static void play(struct dataset_builder *builder, uint32_t expert, struct rng *rng)
{
    float states[(CAP + 1) * DIM], rewards[CAP];
    uint16_t actions[CAP];
    struct trajectory trajectory = {
        .expert = expert, .states = states, .actions = actions, .rewards = rewards};
    uint32_t height = FLOORS, t = 0;
    while (t < CAP && !trajectory.terminated) {
        show(states + (size_t)t * DIM, height);
        bool sinks = rng_uniform(rng) < 0.2;
        actions[t] = sinks ? SINK : STAY;
        trajectory.terminated = sinks && height == 0;
        rewards[t++] = trajectory.terminated ? 100.0F : 0.0F;
        height -= sinks && height > 0;
    }
    show(states + (size_t)t * DIM, height);
    trajectory.length = t;
    trajectory.truncated = !trajectory.terminated;
    cr_assert(dataset_builder_add(builder, &trajectory));
}

static struct dataset *hovering_experts(void)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, ACTIONS, EXPERTS);
    cr_assert_not_null(builder);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        struct rng rng;
        rng_seed(&rng, 7, e);
        for (int t = 0; t < TRAJECTORIES; t++)
            play(builder, e, &rng);
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

Test(cql_landing, a_large_reward_at_the_end_beats_staying)
{
    struct dataset *data = hovering_experts();
    struct algorithm_request request = {.mechanism = MECHANISM_NONE,
                                        .discount = 0.99,
                                        .state_dim = DIM,
                                        .action_count = ACTIONS,
                                        .nominal_experts = EXPERTS,
                                        .seed = 1};
    algorithm_defaults(&cql_algorithm, "lunar_lander", &request.parameters);
    request.parameters.value[OFFLINE_STEPS] = (struct parameter_value)PARAMETER_ONE(4000);
    struct algorithm_plan plan;
    const char *message = NULL;
    cr_assert_eq(cql_algorithm.plan(&request, &plan, &message), ALGORITHM_OK);
    const struct algorithm_run run = {.request = &request, .plan = &plan, .data = data};
    struct policy *policy = NULL;
    cr_assert_eq(cql_algorithm.train(&run, &policy, &message), ALGORITHM_OK);
    for (uint32_t height = 0; height <= FLOORS; height++) {
        float state[DIM], values[ACTIONS];
        show(state, height);
        cr_expect_eq(policy_decide(policy, state, values), SINK,
                     "height %u: staying is worth %.2f, sinking %.2f", height, values[STAY],
                     values[SINK]);
    }
    policy_free(policy);
    dataset_free(data);
}
