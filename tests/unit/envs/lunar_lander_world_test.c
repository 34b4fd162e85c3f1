/* The lunar lander as a world among others: what it refuses, what its parameters do, what it does
 * when memory ends. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envs/lunar_lander.h"

#define NUMBERS 8

/* This program is linked with --wrap=malloc: what Box2D asks for passes here. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static long allocations_left = -1; /* before they fail; -1: they never do */

void *__wrap_malloc(size_t size)
{
    if (allocations_left == 0)
        return NULL;
    if (allocations_left > 0)
        allocations_left--;
    return __real_malloc(size);
}

static double *parameter(double *values, const char *name)
{
    int index = env_parameter_index(&lunar_lander_env, name);
    cr_assert_geq(index, 0, "%s", name);
    return &values[index];
}

/* A start in the middle of all that is allowed, above flat ground. */
static struct lunar_lander_start calm_start(void)
{
    struct lunar_lander_start start = {0};
    for (int i = 0; i < LUNAR_LANDER_HEIGHTS; i++)
        start.heights[i] = 400.0 / 30.0 / 4;
    return start;
}

static const double calm[2] = {0.0, 0.0};

/* ---- refusals */

Test(lunar_lander_world, numbers_that_are_none_or_out_of_range_never_reach_the_physics)
{
    double usual[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&lunar_lander_env, usual);
    static const double wrong[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
    struct lunar_lander_start start = calm_start();
    struct rng rng;
    rng_seed(&rng, 1, 1);
    void *state = env_open(&lunar_lander_env);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        for (unsigned i = 0; i < lunar_lander_env.parameter_count; i++) {
            double parameters[ENV_MAX_PARAMETERS];
            memcpy(parameters, usual, sizeof parameters);
            parameters[i] = wrong[w];
            cr_expect(!lunar_lander_env.reset(state, parameters, &rng, seen));
            cr_assert(lunar_lander_begin(state, usual, &start, seen));
            cr_expect(lunar_lander_env.step(state, parameters, 2, &rng, seen).failed);
        }
        for (int i = 0; i < LUNAR_LANDER_HEIGHTS + 2; i++) {
            struct lunar_lander_start odd = start;
            *(i < LUNAR_LANDER_HEIGHTS ? &odd.heights[i] : &odd.force[i - LUNAR_LANDER_HEIGHTS]) =
                wrong[w];
            cr_expect(!lunar_lander_begin(state, usual, &odd, seen));
        }
        for (int i = 0; i < 2; i++) {
            double dispersion[2] = {0.0, 0.0};
            dispersion[i] = wrong[w];
            cr_expect(lunar_lander_advance(state, usual, 2, dispersion, seen).failed);
        }
        cr_assert(lunar_lander_begin(state, usual, &start, seen));
        cr_expect(!lunar_lander_env.step(state, usual, 2, &rng, seen).failed);
    }
    env_close(&lunar_lander_env, state);
}

Test(lunar_lander_world, a_world_that_was_never_reset_fails)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&lunar_lander_env, parameters);
    struct rng rng;
    rng_seed(&rng, 1, 1);
    void *state = env_open(&lunar_lander_env);
    cr_assert(lunar_lander_env.step(state, parameters, 0, &rng, seen).failed);
    env_close(&lunar_lander_env, state);
    env_close(&lunar_lander_env, NULL);
}

/* Return of an episode of side and main engines, whose end it takes. False: something failed. */
static bool play_episode(void *state, const double *parameters, double *out_return)
{
    double seen[NUMBERS];
    struct lunar_lander_start start = calm_start();
    struct env_outcome outcome = {0};
    *out_return = 0.0;
    if (!lunar_lander_begin(state, parameters, &start, seen))
        return false;
    for (unsigned t = 0; t < 1000 && !outcome.terminated; t++) {
        outcome = lunar_lander_advance(state, parameters, t % 5 == 0 ? 2 : 0, calm, seen);
        if (outcome.failed)
            return false;
        *out_return += outcome.reward;
    }
    return outcome.terminated;
}

/* Every allocation of Box2D fails once: the world says so, and lives on when memory is back. */
Test(lunar_lander_world, where_memory_ends_the_world_fails_and_nothing_else)
{
    double parameters[ENV_MAX_PARAMETERS], wanted, seen;
    env_defaults(&lunar_lander_env, parameters);
    void *first = env_open(&lunar_lander_env);
    cr_assert(play_episode(first, parameters, &wanted));
    env_close(&lunar_lander_env, first);
    unsigned failures = 0;
    for (long n = 0;; n++) {
        void *state = env_open(&lunar_lander_env);
        allocations_left = n;
        bool played = play_episode(state, parameters, &seen);
        bool all = allocations_left > 0;
        allocations_left = -1;
        failures += played ? 0 : 1;
        cr_assert(played ? seen == wanted : !all);
        cr_assert(play_episode(state, parameters, &seen) && seen == wanted);
        env_close(&lunar_lander_env, state);
        if (all)
            break;
    }
    cr_assert_geq(failures, 5);
}

/* ---- what the world does */

/* The observation after STEPS steps of ACTION. */
static void after(const char *name, double value, unsigned action, unsigned steps, double *seen)
{
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&lunar_lander_env, parameters);
    if (name)
        *parameter(parameters, name) = value;
    struct lunar_lander_start start = calm_start();
    start.wind_index = start.turbulence_index = 20;
    void *state = env_open(&lunar_lander_env);
    cr_assert(lunar_lander_begin(state, parameters, &start, seen));
    for (unsigned t = 0; t < steps; t++)
        cr_assert(!lunar_lander_advance(state, parameters, action, calm, seen).failed);
    env_close(&lunar_lander_env, state);
}

Test(lunar_lander_world, each_parameter_moves_the_world)
{
    double usual[NUMBERS], other[NUMBERS];
    after(NULL, 0.0, 0, 20, usual);
    /* 21 steps of free fall, 21/50 s times 10 m/s^2, but for the legs that unfold. */
    cr_expect_float_eq(usual[3], -10.0 * 21 / 50 * (400.0 / 30 / 2) / 50, 0.01, "%g", usual[3]);
    cr_expect_float_eq(usual[2], 0.0, 1e-6);
    after("gravity", -5.0, 0, 20, other);
    cr_expect_float_eq(other[3] - usual[3], 0.5 * 0.56, 1e-3, "%g", other[3]);
    /* Wind sways the mass of 4.96 kg; from its 20th phase on it blows to the right. */
    after("wind_power", 5.0, 0, 20, other);
    double speed = other[2] * 50 / 10, force = 0.0;
    for (int i = 20; i < 41; i++)
        force += 5.0 * tanh(sin(0.02 * i) + sin(M_PI * 0.01 * i));
    cr_expect_float_eq(speed, force / 50 / (4.81667 + 2 * 0.0711111), 1e-3);
    after("turbulence_power", 1.0, 0, 20, other);
    cr_expect(other[5] > 0.01 && fabs(other[2]) < 0.1 * other[5], "%g %g", other[5], other[2]);
}

Test(lunar_lander_world, engines_push_where_they_should)
{
    double none[NUMBERS], left[NUMBERS], up[NUMBERS], right[NUMBERS];
    after(NULL, 0.0, 0, 10, none);
    after(NULL, 0.0, 1, 10, left);
    after(NULL, 0.0, 2, 10, up);
    after(NULL, 0.0, 3, 10, right);
    cr_expect_gt(up[3], none[3] + 0.1);
    cr_expect(left[2] < -0.01 && right[2] > 0.01);
    cr_expect(left[4] > 0.01 && right[4] < -0.01); /* and turn the lander the other way */
    cr_expect_float_eq(left[4], -right[4], 1e-3);
}

Test(lunar_lander_world, rewards_are_gains_in_shaping_less_fuel_and_the_end_replaces_them)
{
    static const double fuel[] = {0.0, 0.03, 0.30, 0.03};
    double parameters[ENV_MAX_PARAMETERS], before[NUMBERS], seen[NUMBERS];
    env_defaults(&lunar_lander_env, parameters);
    struct rng rng;
    rng_seed(&rng, 8, 0);
    void *state = env_open(&lunar_lander_env);
    unsigned ends = 0, landed_legs = 0;
    for (unsigned episode = 0; episode < 40; episode++) {
        struct env_outcome outcome = {0};
        cr_assert(lunar_lander_env.reset(state, parameters, &rng, before));
        for (unsigned t = 0; t < 300 && !outcome.terminated; t++) {
            unsigned action = rng_below(&rng, 4);
            outcome = lunar_lander_env.step(state, parameters, action, &rng, seen);
            double gain = 10 * (seen[6] + seen[7] - before[6] - before[7]) -
                          100 * (hypot(seen[0], seen[1]) - hypot(before[0], before[1])) -
                          100 * (hypot(seen[2], seen[3]) - hypot(before[2], before[3])) -
                          100 * (fabs(seen[4]) - fabs(before[4]));
            if (outcome.terminated)
                cr_assert_eq(outcome.reward, -100.0);
            else
                cr_assert_float_eq(outcome.reward, gain - fuel[action], 1e-9);
            landed_legs += seen[6] != before[6] || seen[7] != before[7];
            memcpy(before, seen, sizeof before);
        }
        ends += outcome.terminated;
        /* It stands still from then on. */
        struct env_outcome next = lunar_lander_env.step(state, parameters, 2, &rng, seen);
        if (outcome.terminated)
            cr_assert(next.terminated && next.reward == 0.0 &&
                      memcmp(seen, before, sizeof seen) == 0);
    }
    cr_assert(ends >= 38 && landed_legs > 10);
    env_close(&lunar_lander_env, state);
}

/* Engines on and off by height and speed, and by angle: enough to come to rest on flat ground. */
static unsigned careful_action(const double *seen)
{
    if (seen[6] + seen[7] > 0.0)
        return 0;
    double lean = 0.3 * seen[2] + 0.3 * seen[0];
    double turn = lean - seen[4] - seen[5];
    if (-0.15 - 0.25 * seen[1] > seen[3])
        return 2;
    return turn < -0.05 ? 3 : turn > 0.05 ? 1 : 0;
}

Test(lunar_lander_world, a_lander_that_comes_to_rest_earns_a_hundred)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&lunar_lander_env, parameters);
    struct lunar_lander_start start = calm_start();
    struct env_outcome outcome = {0};
    void *state = env_open(&lunar_lander_env);
    cr_assert(lunar_lander_begin(state, parameters, &start, seen));
    for (unsigned t = 0; t < 1000 && !outcome.terminated; t++)
        outcome = lunar_lander_advance(state, parameters, careful_action(seen), calm, seen);
    cr_assert(outcome.terminated && outcome.reward == 100.0, "%g at %g %g", outcome.reward, seen[0],
              seen[1]);
    cr_assert(seen[6] == 1.0 && seen[7] == 1.0 && fabs(seen[1]) < 0.05);
    env_close(&lunar_lander_env, state);
}

Test(lunar_lander_world, stays_finite_at_every_corner_of_its_parameters)
{
    unsigned count = lunar_lander_env.parameter_count;
    void *state = env_open(&lunar_lander_env);
    for (unsigned corner = 0; corner < 4U << count; corner++) {
        double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
        env_defaults(&lunar_lander_env, parameters);
        for (unsigned i = 0; i < count; i++) {
            const struct env_parameter *p = &lunar_lander_env.parameters[i];
            cr_assert(p->min <= p->value && p->value <= p->max);
            parameters[i] = corner >> i & 1 ? p->max : p->min;
        }
        struct rng rng;
        rng_seed(&rng, corner, 1);
        unsigned constant = corner >> count; /* the same action in half of the steps */
        cr_assert(lunar_lander_env.reset(state, parameters, &rng, seen));
        for (unsigned t = 0; t < 2000; t++) {
            unsigned action = t % 2 ? constant : rng_below(&rng, 4);
            struct env_outcome outcome =
                lunar_lander_env.step(state, parameters, action, &rng, seen);
            cr_assert(!outcome.failed && isfinite(outcome.reward));
            for (int k = 0; k < NUMBERS; k++)
                cr_assert(isfinite(seen[k]) && fabs(seen[k]) < 1e5, "corner %u", corner);
            if (outcome.terminated)
                cr_assert(lunar_lander_env.reset(state, parameters, &rng, seen));
        }
    }
    env_close(&lunar_lander_env, state);
}
