/* The acrobot's play, starts, bounds, energy and parameters. What Gymnasium recorded is replayed by
 * env_batch_golden_test.c and by `tacet replay` (tests/http/replay_test.c). */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "envs/acrobot.h"

static void set_parameter(double *values, const char *name, double value)
{
    int index = env_parameter_index(&acrobot_env, name);
    cr_assert_geq(index, 0, "%s", name);
    values[index] = value;
}

/* The largest difference of two states, angles modulo a turn. */
static double distance(const struct acrobot_state *a, const struct acrobot_state *b)
{
    double angles = fmax(fabs(remainder(a->theta1 - b->theta1, 2 * M_PI)),
                         fabs(remainder(a->theta2 - b->theta2, 2 * M_PI)));
    return fmax(angles,
                fmax(fabs(a->theta1_dot - b->theta1_dot), fabs(a->theta2_dot - b->theta2_dot)));
}

/* Returns of EPISODES episodes: uniform play, or torque with the sign of theta2_dot. */
struct returns {
    double mean, terminated;
};

static struct returns play(bool uniform, unsigned episodes, unsigned limit, uint64_t seed)
{
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&acrobot_env, parameters);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    struct returns sum = {0};
    for (unsigned e = 0; e < episodes; e++) {
        struct acrobot_state state;
        double seen[6];
        acrobot_env.reset(&state, parameters, &rng, seen);
        for (unsigned t = 0; t < limit; t++) {
            unsigned action = seen[5] > 0 ? 2 : 0;
            if (uniform)
                action = rng_below(&rng, 3);
            struct env_outcome outcome = acrobot_env.step(&state, parameters, action, &rng, seen);
            sum.mean += outcome.reward;
            if (outcome.terminated) {
                sum.terminated += 1.0;
                break;
            }
        }
    }
    return (struct returns){sum.mean / episodes, sum.terminated / episodes};
}

Test(acrobot, play_returns_what_gymnasium_measured)
{
    /* Torque with the sign of theta2_dot, in Gymnasium: mean -89.074, standard error 1.917 over 500
     * episodes, 99.6 % ended. Here 5000 (0.61). Four joint standard errors: 8.1. */
    struct returns swinging = play(false, 5000, 500, 7);
    cr_assert_float_eq(swinging.mean, -89.074, 8.1);
    cr_assert_gt(swinging.terminated, 0.985);
    /* Uniform play there: 1 of 100 episodes ended, so between 0.00005 and 0.073 of them do (99.5 %
     * on either side); within 200 steps it hardly ever gets there. */
    struct returns uniform = play(true, 1000, 500, 8);
    cr_assert(uniform.terminated > 0.00005 && uniform.terminated < 0.073);
    cr_assert_float_eq(acrobot_env.random_return, play(true, 2000, 200, 9).mean, 0.5);
}

Test(acrobot, starts_are_uniform_within_a_tenth_and_rounded_to_float)
{
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&acrobot_env, parameters);
    struct rng rng;
    rng_seed(&rng, 3, 3);
    enum { STARTS = 20000 };
    double sum[4] = {0}, squares[4] = {0};
    for (int i = 0; i < STARTS; i++) {
        struct acrobot_state s;
        double seen[6];
        acrobot_env.reset(&s, parameters, &rng, seen);
        const double x[4] = {s.theta1, s.theta2, s.theta1_dot, s.theta2_dot};
        for (int k = 0; k < 4; k++) {
            cr_assert(fabs(x[k]) <= (double)0.1F);
            cr_assert_eq((double)(float)x[k], x[k]);
            sum[k] += x[k];
            squares[k] += x[k] * x[k];
        }
    }
    for (int k = 0; k < 4; k++) {
        /* Five standard errors of the mean (0.0577 / sqrt n) and of the mean square. */
        cr_assert_lt(fabs(sum[k] / STARTS), 5 * 0.0577 / sqrt(STARTS));
        cr_assert_float_eq(squares[k] / STARTS, 0.1 * 0.1 / 3, 5 * 2.98e-3 / sqrt(STARTS));
    }
}

static struct acrobot_state any_state(struct rng *rng)
{
    return (struct acrobot_state){
        .theta1 = rng_between(rng, -M_PI, M_PI),
        .theta2 = rng_between(rng, -M_PI, M_PI),
        .theta1_dot = rng_between(rng, -4 * M_PI, 4 * M_PI),
        .theta2_dot = rng_between(rng, -9 * M_PI, 9 * M_PI),
    };
}

/* What every step keeps: the state's bounds, and the observation and the end that follow from it.
 * The heights are computed by the addition theorem, not as the world does it. */
static void check_step(const struct acrobot_state *s, const double *seen,
                       struct env_outcome outcome)
{
    cr_assert(fabs(s->theta1) <= M_PI && fabs(s->theta2) <= M_PI);
    cr_assert(fabs(s->theta1_dot) <= 4 * M_PI && fabs(s->theta2_dot) <= 9 * M_PI);
    cr_assert_float_eq(seen[0] * seen[0] + seen[1] * seen[1], 1.0, 1e-15 * 4);
    cr_assert_float_eq(seen[2] * seen[2] + seen[3] * seen[3], 1.0, 1e-15 * 4);
    cr_assert_float_eq(remainder(atan2(seen[1], seen[0]) - s->theta1, 2 * M_PI), 0.0, 1e-14);
    cr_assert_float_eq(remainder(atan2(seen[3], seen[2]) - s->theta2, 2 * M_PI), 0.0, 1e-14);
    cr_assert(seen[4] == s->theta1_dot && seen[5] == s->theta2_dot);
    double height = -seen[0] - (seen[0] * seen[2] - seen[1] * seen[3]);
    if (fabs(height - 1.0) > 1e-12)
        cr_assert_eq(outcome.terminated, height > 1.0);
    cr_assert_eq(outcome.reward, outcome.terminated ? 0.0 : -1.0);
}

Test(acrobot, keeps_its_bounds_at_every_corner_of_its_parameters)
{
    unsigned count = acrobot_env.parameter_count, ends = 0;
    for (unsigned corner = 0; corner < 1U << count; corner++) {
        double parameters[ENV_MAX_PARAMETERS];
        env_defaults(&acrobot_env, parameters);
        for (unsigned i = 0; i < count; i++) {
            const struct env_parameter *p = &acrobot_env.parameters[i];
            cr_assert(p->min <= p->value && p->value <= p->max);
            parameters[i] = corner >> i & 1 ? p->max : p->min;
        }
        struct rng rng;
        rng_seed(&rng, corner, 1);
        struct acrobot_state state = any_state(&rng);
        for (unsigned t = 0; t < 300; t++) {
            double seen[6];
            unsigned action = rng_below(&rng, 3);
            struct env_outcome outcome = acrobot_env.step(&state, parameters, action, &rng, seen);
            check_step(&state, seen, outcome);
            ends += outcome.terminated ? 1 : 0;
        }
    }
    cr_assert_gt(ends, 1000);
}

Test(acrobot, keeps_its_bounds_in_the_usual_world)
{
    double parameters[ENV_MAX_PARAMETERS], seen[6];
    env_defaults(&acrobot_env, parameters);
    struct rng rng;
    rng_seed(&rng, 12, 0);
    for (unsigned start = 0; start < 1000; start++) {
        struct acrobot_state state = any_state(&rng);
        for (unsigned t = 0; t < 20; t++) {
            unsigned action = rng_below(&rng, 3);
            struct env_outcome outcome = acrobot_env.step(&state, parameters, action, &rng, seen);
            check_step(&state, seen, outcome);
        }
    }
}

/* Kinetic and potential energy, J, from the links' positions and speeds alone. */
static double energy(const struct acrobot_state *s, const double *p)
{
    double l1 = p[env_parameter_index(&acrobot_env, "link_length_1")];
    double m1 = p[env_parameter_index(&acrobot_env, "link_mass_1")];
    double m2 = p[env_parameter_index(&acrobot_env, "link_mass_2")];
    double lc1 = p[env_parameter_index(&acrobot_env, "link_com_pos_1")];
    double lc2 = p[env_parameter_index(&acrobot_env, "link_com_pos_2")];
    double moi = p[env_parameter_index(&acrobot_env, "link_moi")];
    double g = p[env_parameter_index(&acrobot_env, "gravity")];
    double both = s->theta1 + s->theta2, turn = s->theta1_dot + s->theta2_dot;
    double vx = l1 * cos(s->theta1) * s->theta1_dot + lc2 * cos(both) * turn;
    double vy = l1 * sin(s->theta1) * s->theta1_dot + lc2 * sin(both) * turn;
    double kinetic = 0.5 * (m1 * lc1 * lc1 + moi) * s->theta1_dot * s->theta1_dot +
                     0.5 * m2 * (vx * vx + vy * vy) + 0.5 * moi * turn * turn;
    double height1 = -lc1 * cos(s->theta1);
    double height2 = -l1 * cos(s->theta1) - lc2 * cos(both);
    return kinetic + g * (m1 * height1 + m2 * height2);
}

/* The largest change of energy in four seconds without torque, J, over many worlds. Gravity is weak
 * and starts are slow, so that a step of 0.2 s is short for the motion and its error small. */
static double energy_drift(double centrifugal)
{
    struct rng rng;
    rng_seed(&rng, 5, 5);
    double worst = 0.0;
    for (unsigned i = 0; i < 1000; i++) {
        double parameters[ENV_MAX_PARAMETERS], seen[6];
        env_defaults(&acrobot_env, parameters);
        for (unsigned k = 0; k < acrobot_env.parameter_count; k++)
            parameters[k] *= rng_between(&rng, 0.8, 1.2);
        set_parameter(parameters, "centrifugal", centrifugal);
        set_parameter(parameters, "gravity", rng_between(&rng, 0.1, 0.2));
        struct acrobot_state state = any_state(&rng);
        state.theta1_dot /= 40;
        state.theta2_dot /= 90;
        double before = energy(&state, parameters);
        for (unsigned t = 0; t < 20; t++)
            acrobot_env.step(&state, parameters, 1, &rng, seen);
        worst = fmax(worst, fabs(energy(&state, parameters) - before));
    }
    return worst;
}

Test(acrobot, keeps_its_energy_without_torque_as_the_book_has_it)
{
    /* Energies are of order 1 J. Seen: 4e-7, and 0.55 without the centrifugal term. */
    cr_assert_lt(energy_drift(1.0), 4e-6);
    cr_assert_gt(energy_drift(0.0), 0.1);
}

Test(acrobot, mirrored_play_is_the_mirror_image)
{
    double parameters[ENV_MAX_PARAMETERS], seen[6], image_seen[6];
    env_defaults(&acrobot_env, parameters);
    struct rng rng;
    rng_seed(&rng, 6, 6);
    for (unsigned i = 0; i < 2000; i++) {
        struct acrobot_state s = any_state(&rng);
        struct acrobot_state image = {-s.theta1, -s.theta2, -s.theta1_dot, -s.theta2_dot};
        unsigned action = rng_below(&rng, 3);
        acrobot_env.step(&s, parameters, action, &rng, seen);
        acrobot_env.step(&image, parameters, 2 - action, &rng, image_seen);
        const struct acrobot_state back = {-image.theta1, -image.theta2, -image.theta1_dot,
                                           -image.theta2_dot};
        cr_assert_lt(distance(&s, &back), 1e-9);
    }
}

/* Torque +1 on the joint of links that hang at a slant, in a world where one parameter differs. */
static struct acrobot_state pushed(const char *name, double value)
{
    double parameters[ENV_MAX_PARAMETERS], seen[6];
    env_defaults(&acrobot_env, parameters);
    if (name)
        set_parameter(parameters, name, value);
    struct rng rng;
    rng_seed(&rng, 0, 0);
    struct acrobot_state state = {.theta1 = 0.5, .theta1_dot = 0.5, .theta2 = 0.2};
    acrobot_env.step(&state, parameters, 2, &rng, seen);
    return state;
}

Test(acrobot, each_parameter_moves_the_world)
{
    struct acrobot_state usual = pushed(NULL, 0.0);
    for (unsigned i = 0; i < acrobot_env.parameter_count; i++) {
        const struct env_parameter *p = &acrobot_env.parameters[i];
        struct acrobot_state other = pushed(p->name, 0.9 * p->value);
        cr_assert_gt(distance(&usual, &other), 1e-4, "%s", p->name);
    }
    cr_assert_lt(pushed("gravity", 20.0).theta1_dot, usual.theta1_dot); /* falls back faster */
    cr_assert_lt(pushed("link_moi", 2.0).theta2_dot, usual.theta2_dot); /* heavy to turn */
}

Test(acrobot, the_same_seed_gives_the_same_history)
{
    double parameters[ENV_MAX_PARAMETERS], seen[3][6];
    env_defaults(&acrobot_env, parameters);
    for (unsigned twin = 0; twin < 3; twin++) {
        struct acrobot_state state;
        struct rng rng;
        rng_seed(&rng, 42, twin / 2);
        acrobot_env.reset(&state, parameters, &rng, seen[twin]);
        for (int t = 0; t < 500; t++)
            acrobot_env.step(&state, parameters, rng_below(&rng, 3), &rng, seen[twin]);
    }
    cr_assert_eq(memcmp(seen[0], seen[1], sizeof seen[0]), 0);
    cr_assert_neq(memcmp(seen[0], seen[2], sizeof seen[0]), 0);
}
