/* CartPole against what Gymnasium 1.4.0's cartpole.py recorded: tests/golden/environments/
 * cartpole.json, from CartPoleEnv inside TimeLimit (Python 3.11.2, numpy 1.24.2). */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "envs/cartpole.h"
#include "tests/unit/envs/recordings.h"

static void read_state(const json_t *row, struct cartpole_state *state)
{
    state->x = json_real_value(json_array_get(row, 0));
    state->x_dot = json_real_value(json_array_get(row, 1));
    state->theta = json_real_value(json_array_get(row, 2));
    state->theta_dot = json_real_value(json_array_get(row, 3));
}

static void read_parameters(const json_t *params, double *values)
{
    env_defaults(&cartpole_env, values);
    for (unsigned i = 0; i < cartpole_env.parameter_count; i++) {
        const char *name = cartpole_env.parameters[i].name;
        const json_t *value = json_object_get(params, name);
        if (strcmp(name, "semi_implicit") == 0) {
            const char *method =
                json_string_value(json_object_get(params, "kinematics_integrator"));
            values[i] = strcmp(method, "euler") == 0 ? 0.0 : 1.0;
            continue;
        }
        cr_assert(json_is_number(value) || json_is_boolean(value), "%s", name);
        values[i] = json_is_true(value) ? 1.0 : json_number_value(value);
    }
}

/* Replays a case; with ONE_STEP every step starts from the recorded state, else from our own. */
static void replay(const json_t *item, bool one_step)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const json_t *states = json_object_get(item, "states");
    const json_t *params = json_object_get(item, "params");
    json_int_t limit = json_integer_value(json_object_get(params, "max_episode_steps"));
    double parameters[ENV_MAX_PARAMETERS];
    read_parameters(params, parameters);
    struct rng rng;
    rng_seed(&rng, 1, 1);
    struct cartpole_state state;
    read_state(json_object_get(item, "initial_state"), &state);
    for (size_t t = 0; t < json_array_size(states); t++) {
        if (one_step && t > 0)
            read_state(json_array_get(states, t - 1), &state);
        double seen[4];
        unsigned action =
            (unsigned)json_integer_value(json_array_get(json_object_get(item, "actions"), t));
        struct env_outcome outcome = cartpole_env.step(&state, parameters, action, &rng, seen);
        for (size_t k = 0; k < 4; k++) {
            double wanted = json_real_value(json_array_get(json_array_get(states, t), k));
            cr_assert_eq(seen[k], wanted, "%s step %zu number %zu: %.17g, not %.17g", name, t, k,
                         seen[k], wanted);
        }
        cr_assert_eq(outcome.reward,
                     json_real_value(json_array_get(json_object_get(item, "rewards"), t)));
        cr_assert_eq(outcome.terminated,
                     json_is_true(json_array_get(json_object_get(item, "terminated"), t)));
        cr_assert_eq((json_int_t)t + 1 >= limit,
                     json_is_true(json_array_get(json_object_get(item, "truncated"), t)));
    }
}

static size_t replay_all(bool one_step)
{
    json_t *cases = recordings_of("cartpole");
    size_t replayed = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i);
        replay(item, one_step);
        replayed++;
    }
    json_decref(cases);
    return replayed;
}

Test(cartpole, every_step_from_its_recorded_state_gives_the_reference_bits)
{
    cr_assert_eq(replay_all(true), 17);
}

Test(cartpole, whole_episodes_from_the_start_state_give_the_reference_bits)
{
    cr_assert_eq(replay_all(false), 17);
}

/* Mean return of uniform play over EPISODES episodes. */
static double random_return(const double *parameters, unsigned episodes, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed, 0);
    double total = 0.0;
    for (unsigned e = 0; e < episodes; e++) {
        struct cartpole_state state;
        double seen[4];
        cartpole_env.reset(&state, parameters, &rng, seen);
        for (unsigned t = 0; t < 500; t++) {
            struct env_outcome outcome =
                cartpole_env.step(&state, parameters, rng_below(&rng, 2), &rng, seen);
            total += outcome.reward;
            if (outcome.terminated)
                break;
        }
    }
    return total / episodes;
}

Test(cartpole, uniform_play_returns_what_gymnasium_measured)
{
    /* Gymnasium: mean 22.2812, standard error 0.1706 over 5000 episodes. Here 50000 (0.054). Four
     * joint standard errors: 0.72. */
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&cartpole_env, parameters);
    cr_assert_float_eq(random_return(parameters, 50000, 7), 22.2812, 0.72);
    cr_assert_float_eq(cartpole_env.random_return, 22.2812, 0.17);
}

Test(cartpole, starts_are_uniform_within_a_twentieth)
{
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&cartpole_env, parameters);
    struct rng rng;
    rng_seed(&rng, 3, 3);
    enum { STARTS = 20000 };
    double sum[4] = {0}, squares[4] = {0};
    for (int i = 0; i < STARTS; i++) {
        struct cartpole_state state;
        double seen[4];
        cartpole_env.reset(&state, parameters, &rng, seen);
        for (int k = 0; k < 4; k++) {
            cr_assert(seen[k] >= -0.05 && seen[k] < 0.05);
            sum[k] += seen[k];
            squares[k] += seen[k] * seen[k];
        }
    }
    for (int k = 0; k < 4; k++) {
        /* Five standard errors of the mean (0.0289 / sqrt n) and of the mean square. */
        cr_assert_lt(fabs(sum[k] / STARTS), 5 * 0.0289 / sqrt(STARTS));
        cr_assert_float_eq(squares[k] / STARTS, 0.05 * 0.05 / 3, 5 * 7.46e-4 / sqrt(STARTS));
    }
}

/* One push to the right of a tilted pole in a world where one parameter differs. */
static struct cartpole_state pushed(const char *name, double value)
{
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&cartpole_env, parameters);
    if (name) {
        int index = env_parameter_index(&cartpole_env, name);
        cr_assert_geq(index, 0, "%s", name);
        parameters[index] = value;
    }
    struct rng rng;
    rng_seed(&rng, 0, 0);
    struct cartpole_state state = {.theta = 0.1};
    double seen[4];
    cartpole_env.step(&state, parameters, 1, &rng, seen);
    return state;
}

Test(cartpole, each_parameter_moves_the_world_as_physics_says)
{
    struct cartpole_state usual = pushed(NULL, 0.0);
    cr_assert_gt(pushed("gravity", 11.0).theta_dot, usual.theta_dot);
    cr_assert_gt(pushed("force_mag", 11.25).x_dot, usual.x_dot);
    cr_assert_lt(pushed("force_mag", 11.25).theta_dot, usual.theta_dot);
    cr_assert_lt(pushed("masscart", 1.25).x_dot, usual.x_dot);
    cr_assert_lt(pushed("masspole", 0.3).x_dot, usual.x_dot);
    cr_assert_gt(pushed("length", 1.0).theta_dot, usual.theta_dot); /* a long pole falls slowly */
    cr_assert_gt(pushed("semi_implicit", 1.0).x, usual.x);
}

Test(cartpole, stays_finite_at_every_corner_of_its_parameters)
{
    unsigned count = cartpole_env.parameter_count;
    for (unsigned corner = 0; corner < 1U << count; corner++) {
        double parameters[ENV_MAX_PARAMETERS];
        env_defaults(&cartpole_env, parameters);
        for (unsigned i = 0; i < count; i++) {
            const struct env_parameter *p = &cartpole_env.parameters[i];
            cr_assert(p->min <= p->value && p->value <= p->max);
            parameters[i] = corner >> i & 1 ? p->max : p->min;
        }
        struct rng rng;
        rng_seed(&rng, corner, 1);
        struct cartpole_state state;
        double seen[4];
        cartpole_env.reset(&state, parameters, &rng, seen);
        bool over = false;
        for (unsigned t = 0; t < 1000 && !over; t++) {
            over = cartpole_env.step(&state, parameters, rng_below(&rng, 2), &rng, seen).terminated;
            for (int k = 0; k < 4; k++)
                cr_assert(isfinite((float)seen[k]), "corner %u step %u", corner, t);
        }
    }
}
