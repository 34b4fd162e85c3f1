/* Evaluation in blocks: how often a job looks up, and that what it plays is a function of the plan.
 */
#include <criterion/criterion.h>

#include "api/jobs/run/job_run.h"

/* Counts the questions; says no after LAST of them. */
struct asked {
    unsigned times, last, done;
};

static bool between(void *context, uint32_t done)
{
    struct asked *asked = context;
    cr_assert(done >= asked->done && (asked->times == 0) == (done == 0));
    asked->done = done;
    return asked->times++ < asked->last;
}

static bool evaluate(const char *name, uint32_t episodes, uint32_t steps, struct asked *asked,
                     struct policy_evaluation *out)
{
    struct job_plan plan = {.episodes = episodes, .max_episode_steps = steps};
    const struct env *world = env_find(name);
    cr_assert(world);
    const struct mlp_shape shape = {
        .input = world->state_dim, .layer_count = 1, .width = {world->action_count}};
    struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
    cr_assert(policy);
    const struct job_player player = {.policy = policy};
    bool done = job_evaluate(&plan, world, &player, between, asked, out);
    policy_free(policy);
    return done;
}

Test(job_evaluate, looks_up_the_sooner_the_more_a_step_of_the_world_costs)
{
    struct policy_evaluation seen = {0};
    struct asked light = {.last = 100}, heavy = {.last = 100};
    cr_assert(evaluate("cartpole", 200, 50, &light, &seen));
    cr_expect_eq(light.times, 1);
    cr_assert(evaluate("hiv", 200, 50, &heavy, &seen));
    cr_expect(heavy.times >= 2 && heavy.times <= 20, "%u", heavy.times);
    cr_expect_eq(seen.episodes, 200);
    /* All weights zero: no drug, ever; and every patient is alike. */
    cr_expect_float_eq(seen.mean_return, 857946.75, 1.0);
    cr_expect_float_eq(seen.std_return, 0.0, 1e-3);
}

Test(job_evaluate, ends_between_blocks_when_told)
{
    struct policy_evaluation seen = {0};
    struct asked asked = {.last = 1};
    cr_expect_not(evaluate("hiv", 200, 50, &asked, &seen));
    cr_expect_eq(asked.times, 2);
    cr_expect_eq(seen.episodes, 0);
}
