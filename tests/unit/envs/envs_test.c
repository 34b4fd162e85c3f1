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

/* Plays STEPS steps from SEED on in STATE; what is seen last to OUT. */
static void live(const struct env *env, void *state, uint64_t seed, int steps, double *out)
{
    double parameters[ENV_MAX_PARAMETERS];
    struct rng rng;
    env_defaults(env, parameters);
    rng_seed(&rng, seed, 0);
    cr_assert(env->reset(state, parameters, &rng, out));
    for (int t = 0; t < steps; t++)
        env->step(state, parameters, rng_below(&rng, env->action_count), &rng, out);
}

/* Also in a state that has seen another one: or what one expert plays would move the next one's
 * weight (skill_voices.h). */
Test(envs, an_episode_is_a_function_of_its_seed)
{
    unsigned count;
    const struct env *const *all = env_all(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct env *env = all[i];
        double seen[3][ENV_MAX_STATE_DIM];
        for (int twin = 0; twin < 3; twin++) {
            void *state = env_open(env);
            cr_assert_not_null(state);
            if (twin == 2)
                live(env, state, 7, 60, seen[twin]);
            live(env, state, 42 + i, 5, seen[twin]);
            env_close(env, state);
        }
        for (int twin = 1; twin < 3; twin++)
            cr_assert_eq(memcmp(seen[0], seen[twin], env->state_dim * sizeof(double)), 0, "%s",
                         env->name);
    }
}
