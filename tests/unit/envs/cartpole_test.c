/* CartPole's play, starts and parameters. What Gymnasium recorded is replayed to the bit by
 * env_batch_golden_test.c and by `tacet replay` (tests/http/replay_test.c). */
#include <criterion/criterion.h>
#include <math.h>

#include "envs/cartpole.h"

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
