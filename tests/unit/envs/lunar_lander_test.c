/* The lunar lander against tests/golden/environments/lunar_lander.json: episodes that a program of
 * its own recorded over Debian's Box2D 2.4.1, by the same rule of iterations. Over the Box2D 2.3.0
 * of Gymnasium that program gives Gymnasium's bits. Also against Gymnasium's own returns. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "envs/lunar_lander.h"
#include "tests/unit/envs/recordings.h"

#define NUMBERS 8

static void read_numbers(const json_t *row, double *out, size_t count)
{
    cr_assert_geq(json_array_size(row), count);
    for (size_t i = 0; i < count; i++) {
        cr_assert(json_is_number(json_array_get(row, i)));
        out[i] = json_number_value(json_array_get(row, i));
    }
}

static double *parameter(double *values, const char *name)
{
    int index = env_parameter_index(&lunar_lander_env, name);
    cr_assert_geq(index, 0, "%s", name);
    return &values[index];
}

/* Without enable_wind the recorded powers mean nothing. */
static void read_parameters(const json_t *params, double *values)
{
    env_defaults(&lunar_lander_env, values);
    *parameter(values, "gravity") = json_number_value(json_object_get(params, "gravity"));
    if (!json_is_true(json_object_get(params, "enable_wind")))
        return;
    *parameter(values, "wind_power") = json_number_value(json_object_get(params, "wind_power"));
    *parameter(values, "turbulence_power") =
        json_number_value(json_object_get(params, "turbulence_power"));
}

static struct lunar_lander_start read_start(const json_t *initial)
{
    struct lunar_lander_start start = {0};
    read_numbers(json_object_get(initial, "terrain_heights"), start.heights, LUNAR_LANDER_HEIGHTS);
    read_numbers(json_object_get(initial, "initial_force"), start.force, 2);
    start.wind_index = (int)json_integer_value(json_object_get(initial, "wind_idx"));
    start.turbulence_index = (int)json_integer_value(json_object_get(initial, "torque_idx"));
    return start;
}

static void expect_bits(const double *seen, const json_t *row, const char *name, size_t step)
{
    double wanted[NUMBERS];
    read_numbers(row, wanted, NUMBERS);
    for (int k = 0; k < NUMBERS; k++)
        cr_assert_eq(seen[k], wanted[k], "%s step %zu number %d: %.17g, not %.17g", name, step, k,
                     seen[k], wanted[k]);
}

/* Every state, reward and flag to the last bit; gives the number of steps. */
static size_t replay(const json_t *item)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const json_t *params = json_object_get(item, "params");
    const json_t *block = json_object_get(item, "debian_box2d_2_4_1_contact600");
    const json_t *states = json_object_get(block, "states");
    json_int_t limit = json_integer_value(json_object_get(params, "max_episode_steps"));
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS], dispersion[2];
    read_parameters(params, parameters);
    struct lunar_lander_start start = read_start(json_object_get(item, "initial"));
    void *state = env_open(&lunar_lander_env);
    cr_assert(state && lunar_lander_begin(state, parameters, &start, seen));
    expect_bits(seen, json_object_get(block, "reset_state"), name, 0);
    for (size_t t = 0; t < json_array_size(states); t++) {
        read_numbers(json_array_get(json_object_get(item, "dispersion"), t), dispersion, 2);
        unsigned action =
            (unsigned)json_integer_value(json_array_get(json_object_get(block, "actions"), t));
        struct env_outcome outcome =
            lunar_lander_advance(state, parameters, action, dispersion, seen);
        expect_bits(seen, json_array_get(states, t), name, t + 1);
        cr_assert_eq(outcome.reward,
                     json_number_value(json_array_get(json_object_get(block, "rewards"), t)),
                     "%s step %zu", name, t + 1);
        cr_assert_eq(outcome.terminated,
                     json_is_true(json_array_get(json_object_get(block, "terminated"), t)));
        cr_assert_eq((json_int_t)t + 1 >= limit,
                     json_is_true(json_array_get(json_object_get(block, "truncated"), t)));
    }
    env_close(&lunar_lander_env, state);
    return json_array_size(states);
}

Test(lunar_lander, whole_episodes_give_the_recorded_bits)
{
    json_t *cases = recordings_of("lunar_lander");
    size_t steps = 0;
    cr_assert_eq(json_array_size(cases), 14);
    for (size_t i = 0; i < json_array_size(cases); i++)
        steps += replay(json_array_get(cases, i));
    cr_assert_eq(steps, 2278);
    json_decref(cases);
}

/* ---- returns */

struct returns {
    double mean, deviation;
    unsigned crashed, left, rested; /* how episodes ended within the limit */
};

enum player { IDLE, UNIFORM, HEURISTIC };

static double clamp(double x, double most)
{
    return fmin(fmax(x, -most), most);
}

/* The controller that comes with Gymnasium's lunar_lander.py. */
static unsigned heuristic_action(const double *s)
{
    double angle = (clamp(0.5 * s[0] + 1.0 * s[2], 0.4) - s[4]) * 0.5 - s[5] * 1.0;
    double hover = (0.55 * fabs(s[0]) - s[1]) * 0.5 - s[3] * 0.5;
    if (s[6] != 0.0 || s[7] != 0.0) {
        angle = 0.0;
        hover = -s[3] * 0.5;
    }
    if (hover > fabs(angle) && hover > 0.05)
        return 2;
    return angle < -0.05 ? 3 : angle > 0.05 ? 1 : 0;
}

static unsigned action_of(enum player player, const double *seen, struct rng *rng)
{
    if (player == HEURISTIC)
        return heuristic_action(seen);
    return player == UNIFORM ? rng_below(rng, 4) : 0;
}

static struct returns play(const double *parameters, enum player player, unsigned episodes,
                           unsigned limit, uint64_t seed)
{
    struct returns out = {0};
    struct rng rng;
    rng_seed(&rng, seed, 0);
    void *state = env_open(&lunar_lander_env);
    double seen[NUMBERS], sum = 0.0, squares = 0.0;
    for (unsigned e = 0; e < episodes; e++) {
        struct env_outcome outcome = {0};
        double total = 0.0;
        cr_assert(lunar_lander_env.reset(state, parameters, &rng, seen));
        for (unsigned t = 0; t < limit && !outcome.terminated; t++) {
            unsigned action = action_of(player, seen, &rng);
            outcome = lunar_lander_env.step(state, parameters, action, &rng, seen);
            cr_assert(!outcome.failed);
            total += outcome.reward;
        }
        if (outcome.terminated)
            ++*(outcome.reward == 100.0 ? &out.rested
                : fabs(seen[0]) >= 1.0  ? &out.left
                                        : &out.crashed);
        sum += total;
        squares += total * total;
    }
    env_close(&lunar_lander_env, state);
    out.mean = sum / episodes;
    out.deviation = sqrt(squares / episodes - out.mean * out.mean);
    return out;
}

/* What Gymnasium itself returns in so many episodes, and in how many of them the lander left the
 * picture or came to rest. */
static const struct {
    enum player player;
    double wind_power, turbulence_power;
    double episodes, mean, deviation, left, rested;
    unsigned ours; /* episodes that we play */
} GYMNASIUM[] = {
    {UNIFORM, 0.0, 0.0, 1000, -187.168, 111.972, 0.087, 0.0, 1000},
    {IDLE, 0.0, 0.0, 1000, -129.865, 45.183, 0.0, 0.0, 1000},
    {UNIFORM, 15.0, 1.5, 500, -264.567, 146.004, 0.116, 0.0, 500},
    {IDLE, 15.0, 1.5, 500, -201.498, 92.435, 0.006, 0.0, 500},
    {HEURISTIC, 0.0, 0.0, 1000, 237.014, 106.345, 0.039, 0.923, 250},
};

/* Two shares of which the wanted one is SHARE, four joint standard errors apart at most. */
static double share_error(double share, double inverse_sizes)
{
    return 4 * sqrt(fmax(share * (1 - share), 0.005) * inverse_sizes);
}

/* Four joint standard errors each: 20 comparisons that fail together in one of 800 seeds. With 180
 * iterations on the ground the second row would be off by 28, or 13 of its standard errors. */
Test(lunar_lander, play_returns_what_gymnasium_measured)
{
    for (size_t i = 0; i < sizeof GYMNASIUM / sizeof *GYMNASIUM; i++) {
        double parameters[ENV_MAX_PARAMETERS], deviation = GYMNASIUM[i].deviation;
        env_defaults(&lunar_lander_env, parameters);
        *parameter(parameters, "wind_power") = GYMNASIUM[i].wind_power;
        *parameter(parameters, "turbulence_power") = GYMNASIUM[i].turbulence_power;
        double n = GYMNASIUM[i].ours, sizes = 1 / n + 1 / GYMNASIUM[i].episodes;
        struct returns seen =
            play(parameters, GYMNASIUM[i].player, GYMNASIUM[i].ours, 1000, 100 + i);
        cr_expect_float_eq(seen.mean, GYMNASIUM[i].mean, 4 * deviation * sqrt(sizes), "row %zu: %g",
                           i, seen.mean);
        /* A deviation's own error where the fourth moment is that of a double exponential. */
        cr_expect_float_eq(seen.deviation, deviation, 4 * deviation * sqrt(5.0 / 4 * sizes),
                           "row %zu: %g", i, seen.deviation);
        cr_expect_float_eq(seen.left / n, GYMNASIUM[i].left, share_error(GYMNASIUM[i].left, sizes),
                           "row %zu: %u left", i, seen.left);
        cr_expect_float_eq(seen.rested / n, GYMNASIUM[i].rested,
                           share_error(GYMNASIUM[i].rested, sizes), "row %zu: %u rested", i,
                           seen.rested);
        cr_expect_geq(seen.crashed + seen.left + seen.rested, 0.95 * n); /* others hover on */
    }
}

Test(lunar_lander, uniform_play_within_200_steps_returns_what_its_row_says)
{
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&lunar_lander_env, parameters);
    struct returns seen = play(parameters, UNIFORM, 500, 200, 5);
    cr_assert_float_eq(seen.mean, lunar_lander_env.random_return, 4 * 114.0 / sqrt(500), "%g",
                       seen.mean);
}

/* ---- what a history depends on */

enum { HISTORY = 400 };

struct history {
    double seen[HISTORY][NUMBERS + 1]; /* observation and reward */
};

/* HISTORY steps of uniform play, episode after episode, in a world that has already lived through
 * BEFORE steps. */
static void live(uint64_t seed, unsigned before, struct history *out)
{
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&lunar_lander_env, parameters);
    *parameter(parameters, "wind_power") = 3.0;
    void *state = env_open(&lunar_lander_env);
    struct rng rng;
    memset(out, 0, sizeof *out);
    for (unsigned pass = before > 0 ? 0 : 1; pass < 2; pass++) {
        rng_seed(&rng, seed + (pass == 0 ? 1000 : 0), 0);
        bool over = true;
        for (unsigned t = 0; t < (pass == 0 ? before : HISTORY); t++) {
            double *seen = out->seen[t % HISTORY];
            if (over && !lunar_lander_env.reset(state, parameters, &rng, seen))
                abort();
            struct env_outcome outcome =
                lunar_lander_env.step(state, parameters, rng_below(&rng, 4), &rng, seen);
            seen[NUMBERS] = outcome.reward;
            over = outcome.terminated;
        }
    }
    env_close(&lunar_lander_env, state);
}

Test(lunar_lander, a_history_is_that_of_its_seed_whatever_the_world_saw_before)
{
    static struct history first, again, other;
    live(1, 0, &first);
    live(1, 250, &again);
    live(2, 0, &other);
    cr_assert_eq(memcmp(&first, &again, sizeof first), 0);
    cr_assert_neq(memcmp(&first, &other, sizeof first), 0);
}

static void *live_alone(void *context)
{
    struct history *history = context;
    live((uint64_t)history->seen[0][0], 0, history);
    return NULL;
}

/* Threads come before any world has been opened in this process: they race for the first one. */
Test(lunar_lander, threads_do_not_meet)
{
    enum { THREADS = 6 };
    static struct history beside[THREADS], alone;
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        beside[i].seen[0][0] = i;
        cr_assert_eq(pthread_create(&thread[i], NULL, live_alone, &beside[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        live((uint64_t)i, 0, &alone);
        cr_assert_eq(memcmp(&alone, &beside[i], sizeof alone), 0, "thread %d", i);
    }
}

Test(lunar_lander, reset_and_step_draw_in_the_order_that_is_written_down)
{
    double parameters[ENV_MAX_PARAMETERS], seen[2][NUMBERS];
    env_defaults(&lunar_lander_env, parameters);
    *parameter(parameters, "turbulence_power") = 1.0;
    void *state[2] = {env_open(&lunar_lander_env), env_open(&lunar_lander_env)};
    struct rng drawn, rng;
    rng_seed(&rng, 4, 4);
    drawn = rng;
    struct lunar_lander_start start;
    for (int i = 0; i < LUNAR_LANDER_HEIGHTS; i++)
        start.heights[i] = rng_between(&drawn, 0.0, 400.0 / 30.0 / 2);
    for (int i = 0; i < 2; i++)
        start.force[i] = rng_between(&drawn, -1000.0, 1000.0);
    start.wind_index = (int)rng_below(&drawn, 19998) - 9999;
    start.turbulence_index = (int)rng_below(&drawn, 19998) - 9999;
    cr_assert(lunar_lander_env.reset(state[0], parameters, &rng, seen[0]));
    cr_assert(lunar_lander_begin(state[1], parameters, &start, seen[1]));
    for (unsigned t = 0; t < 50; t++) {
        double dispersion[2] = {rng_between(&drawn, -1.0, 1.0), 0.0};
        dispersion[1] = rng_between(&drawn, -1.0, 1.0);
        lunar_lander_env.step(state[0], parameters, t % 4, &rng, seen[0]);
        lunar_lander_advance(state[1], parameters, t % 4, dispersion, seen[1]);
        cr_assert_eq(memcmp(seen[0], seen[1], sizeof seen[0]), 0);
    }
    cr_assert_eq(memcmp(&rng, &drawn, sizeof rng), 0);
    env_close(&lunar_lander_env, state[0]);
    env_close(&lunar_lander_env, state[1]);
}
