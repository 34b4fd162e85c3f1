/* The worlds of examples (ward, fund, factory): their numbers stay within the ranges that their
 * headers state, what their rows say of random play is true, and there is something to learn: a
 * simple rule is far better than random play and than any action alone. */
#include <criterion/criterion.h>
#include <math.h>

#include "envs/factory.h"
#include "envs/fund.h"
#include "envs/ward.h"

enum { EPISODES = 20000, RANDOM = -1, RULE = -2 };

static unsigned ward_rule(const double *seen)
{
    bool lungs_are_free = seen[3] > 92;
    if (seen[1] < 60)
        return lungs_are_free ? 3 : 2;
    if (seen[1] < 68)
        return lungs_are_free ? 1 : 2;
    return 0;
}

static unsigned fund_rule(const double *seen)
{
    if (seen[0] > 0.6)
        return 2;
    return seen[0] > 0.3 || (seen[0] > -0.1 && seen[3] == 0) ? 1 : 0;
}

static unsigned factory_rule(const double *seen)
{
    if (seen[1] > 40 || (seen[1] > 25 && seen[2] < 4))
        return 2;
    return seen[2] >= 2 && seen[0] < 80 ? 1 : 0;
}

static const struct example {
    const struct env *env;
    unsigned (*rule)(const double *seen);
    double low[6], high[6];
} examples[] = {
    {&ward_env, ward_rule, {30, 30, -0.53, 60, 0, 0}, {220, 140, 1.302, 100, 1, 1}},
    {&fund_env, fund_rule, {-10, -0.302, 0, 0, 0, 0}, {10, 1, 100, 1, 1, 1}},
    {&factory_env, factory_rule, {20, 0, 0}, {150, 100, 50}},
};

static void expect_within(const struct example *example, const double *seen)
{
    for (unsigned i = 0; i < example->env->state_dim; i++)
        cr_assert(seen[i] >= example->low[i] && seen[i] <= example->high[i], "%s: number %u is %g",
                  example->env->name, i, seen[i]);
}

/* The mean return of what PLAYED names: an action, RANDOM or RULE; its standard error to *ERROR. */
static double mean_return(const struct example *example, int played, double *error)
{
    const struct env *env = example->env;
    double parameters[ENV_MAX_PARAMETERS], seen[ENV_MAX_STATE_DIM], sum = 0, squares = 0;
    struct rng rng;
    void *state = env_open(env);
    env_defaults(env, parameters);
    rng_seed(&rng, 3, 0);
    for (int e = 0; e < EPISODES; e++) {
        struct env_outcome outcome = {0};
        double total = 0;
        cr_assert(env->reset(state, parameters, &rng, seen));
        expect_within(example, seen);
        for (unsigned t = 0; t < env->max_episode_steps && !outcome.terminated; t++) {
            unsigned action = (unsigned)played;
            if (played == RANDOM)
                action = rng_below(&rng, env->action_count);
            else if (played == RULE)
                action = example->rule(seen);
            outcome = env->step(state, parameters, action, &rng, seen);
            cr_assert_not(outcome.failed);
            expect_within(example, seen);
            total += outcome.reward;
        }
        sum += total;
        squares += total * total;
    }
    env_close(env, state);
    double mean = sum / EPISODES;
    *error = sqrt((squares / EPISODES - mean * mean) / EPISODES);
    return mean;
}

/* Within five standard errors (false alarm 6e-7 a world) and what rounding the row's number adds.
 */
Test(example_worlds, random_play_returns_what_their_rows_say)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        double error, mean = mean_return(&examples[i], RANDOM, &error);
        cr_expect_float_eq(mean, examples[i].env->random_return, 5 * error + 0.05, "%s: %g +- %g",
                           examples[i].env->name, mean, error);
    }
}

Test(example_worlds, a_rule_is_better_than_random_play_and_than_each_action_alone)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        double error, rule = mean_return(&examples[i], RULE, &error);
        for (int other = RANDOM; other < (int)examples[i].env->action_count; other++) {
            double other_error, mean = mean_return(&examples[i], other, &other_error);
            cr_expect_gt(rule - mean, 3 + 5 * (error + other_error), "%s: %d returns %g, not %g",
                         examples[i].env->name, other, mean, rule);
        }
    }
}

Test(example_worlds, a_stay_ends_by_discharge_only_without_treatment)
{
    double parameters[ENV_MAX_PARAMETERS], seen[ENV_MAX_STATE_DIM];
    struct rng rng;
    env_defaults(&ward_env, parameters);
    rng_seed(&rng, 1, 0);
    for (unsigned action = 0; action < 4; action++) {
        struct ward_state healthy = {75, 90, 1, 97, 0.01, 0};
        struct env_outcome outcome = ward_env.step(&healthy, parameters, action, &rng, seen);
        cr_expect_eq(outcome.terminated, action == 0, "action %u", action);
        cr_expect_eq(outcome.reward > 10, action == 0, "action %u", action);
    }
}
