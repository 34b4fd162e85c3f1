/* The table of worlds: what every row must hold. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "envs/env.h"

Test(envs, every_world_is_found_by_its_name_and_within_limits)
{
    unsigned count;
    const struct env *const *all = env_all(&count);
    cr_assert_gt(count, 0);
    for (unsigned i = 0; i < count; i++) {
        const struct env *env = all[i];
        cr_assert_eq(env_find(env->name), env);
        cr_assert(env->state_dim > 0 && env->state_dim <= ENV_MAX_STATE_DIM);
        cr_assert(env->action_count > 1 && env->action_count <= ENV_MAX_ACTIONS);
        cr_assert_leq(env->parameter_count, ENV_MAX_PARAMETERS);
        cr_assert_gt(env->max_episode_steps, 0);
        for (unsigned p = 0; p < env->parameter_count; p++) {
            const struct env_parameter *parameter = &env->parameters[p];
            cr_assert_eq(env_parameter_index(env, parameter->name), (int)p);
            cr_assert(parameter->min <= parameter->value && parameter->value <= parameter->max);
            cr_assert(parameter->unit && parameter->meaning);
        }
    }
}

Test(envs, unknown_names_are_not_found)
{
    cr_assert_null(env_find("no such world"));
    cr_assert_null(env_find(""));
    cr_assert_eq(env_parameter_index(env_find("cartpole"), "colour"), -1);
}

Test(envs, defaults_fill_every_place)
{
    const struct env *env = env_find("cartpole");
    double values[ENV_MAX_PARAMETERS];
    for (int i = 0; i < ENV_MAX_PARAMETERS; i++)
        values[i] = NAN;
    env_defaults(env, values);
    cr_assert_eq(values[env_parameter_index(env, "gravity")], 9.8);
    cr_assert_eq(values[env_parameter_index(env, "length")], 0.5);
    for (int i = 0; i < ENV_MAX_PARAMETERS; i++)
        cr_assert(isfinite(values[i]));
}

Test(envs, an_episode_is_a_function_of_its_seed)
{
    unsigned count;
    const struct env *const *all = env_all(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct env *env = all[i];
        double parameters[ENV_MAX_PARAMETERS], seen[2][ENV_MAX_STATE_DIM];
        env_defaults(env, parameters);
        for (int twin = 0; twin < 2; twin++) {
            struct rng rng;
            rng_seed(&rng, 42, i);
            void *state = env_open(env);
            cr_assert(state != NULL && env->reset(state, parameters, &rng, seen[twin]));
            for (int t = 0; t < 5; t++)
                env->step(state, parameters, rng_below(&rng, env->action_count), &rng, seen[twin]);
            env_close(env, state);
        }
        cr_assert_eq(memcmp(seen[0], seen[1], env->state_dim * sizeof(double)), 0);
    }
}
