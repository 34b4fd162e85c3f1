/* HIV treatment against the exact flow and the rewards of RLPy's HIVTreatment: tests/golden/
 * environments/hiv.json, computed by Gragg-Bulirsch-Stoer extrapolation in 80-bit arithmetic. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "envs/hiv.h"
#include "tests/unit/envs/recordings.h"

#define NUMBERS 6

static void take_numbers(const struct hiv_state *s, double *out)
{
    const double numbers[NUMBERS] = {s->t1,          s->t2,    s->t1_infected,
                                     s->t2_infected, s->virus, s->immune};
    memcpy(out, numbers, sizeof numbers);
}

/* Largest difference of a number of SEEN relative to that of WANTED, as the reference compares. */
static double distance(const struct hiv_state *seen, const struct hiv_state *wanted)
{
    double a[NUMBERS], b[NUMBERS], worst = 0.0;
    take_numbers(seen, a);
    take_numbers(wanted, b);
    for (int i = 0; i < NUMBERS; i++) {
        cr_assert(isfinite(a[i]) && isfinite(b[i]));
        worst = fmax(worst, fabs(a[i] - b[i]) / fmax(fabs(b[i]), 1e-6));
    }
    return worst;
}

static struct hiv_state read_state(const json_t *row)
{
    double v[NUMBERS];
    cr_assert_eq(json_array_size(row), NUMBERS);
    for (size_t i = 0; i < NUMBERS; i++)
        v[i] = json_number_value(json_array_get(row, i));
    return (struct hiv_state){v[0], v[1], v[2], v[3], v[4], v[5]};
}

static double *parameter(double *values, const char *name)
{
    int index = env_parameter_index(&hiv_env, name);
    cr_assert_geq(index, 0, "%s", name);
    return &values[index];
}

/* Defaults, or what PARAMS records of every parameter. */
static void read_parameters(const json_t *params, double *values)
{
    env_defaults(&hiv_env, values);
    for (unsigned i = 0; i < hiv_env.parameter_count; i++) {
        const json_t *value = json_object_get(params, hiv_env.parameters[i].name);
        cr_assert(json_is_number(value), "%s", hiv_env.parameters[i].name);
        values[i] = json_number_value(value);
    }
}

/* The efficacies of step T where the case records them; they are the drugs' of that step. */
static void read_efficacies(const json_t *item, size_t t, double *parameters)
{
    const json_t *given = json_array_get(json_object_get(item, "efficacies"), t);
    if (!given)
        return;
    *parameter(parameters, "eps1_on") = json_number_value(json_array_get(given, 0));
    *parameter(parameters, "eps2_on") = json_number_value(json_array_get(given, 1));
}

static unsigned action_of(const json_t *item, size_t t)
{
    return (unsigned)json_integer_value(json_array_get(json_object_get(item, "actions"), t));
}

static void expect_observation(const double *seen, const struct hiv_state *state)
{
    double numbers[NUMBERS];
    take_numbers(state, numbers);
    for (int i = 0; i < NUMBERS; i++)
        cr_assert_eq(seen[i], log10(numbers[i]));
}

/* Replays a case; with ONE_STEP every step starts from the recorded state, else from our own. */
static void replay(const json_t *item, bool one_step)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const json_t *states = json_object_get(item, "states");
    const json_t *params = json_object_get(item, "params");
    json_int_t limit = json_integer_value(json_object_get(params, "max_episode_steps"));
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    read_parameters(params, parameters);
    struct rng rng;
    rng_seed(&rng, 1, 1);
    struct hiv_state state = read_state(json_object_get(item, "initial_state"));
    cr_assert_eq((json_int_t)json_array_size(states), limit);
    for (size_t t = 0; t < json_array_size(states); t++) {
        read_efficacies(item, t, parameters);
        struct env_outcome outcome =
            hiv_env.step(&state, parameters, action_of(item, t), &rng, seen);
        struct hiv_state wanted = read_state(json_array_get(states, t));
        double worth = json_number_value(json_array_get(json_object_get(item, "rewards"), t));
        /* Ten times closer than the reference asks. */
        cr_assert_leq(distance(&state, &wanted), 1e-7, "%s step %zu: %g", name, t,
                      distance(&state, &wanted));
        cr_assert_leq(fabs(outcome.reward - worth), fmax(1e-6 * fabs(worth), 1e-2),
                      "%s step %zu: %.17g, not %.17g", name, t, outcome.reward, worth);
        expect_observation(seen, &state);
        cr_assert_eq(outcome.terminated,
                     json_is_true(json_array_get(json_object_get(item, "terminated"), t)));
        cr_assert_eq((json_int_t)t + 1 >= limit,
                     json_is_true(json_array_get(json_object_get(item, "truncated"), t)));
        if (one_step)
            state = wanted;
    }
}

static void replay_all(bool one_step)
{
    json_t *cases = recordings_of("hiv");
    cr_assert_eq(json_array_size(cases), 14);
    for (size_t i = 0; i < json_array_size(cases); i++)
        replay(json_array_get(cases, i), one_step);
    json_decref(cases);
}

Test(hiv, every_step_from_its_recorded_state_follows_the_exact_flow)
{
    replay_all(true);
}

Test(hiv, whole_treatments_follow_the_exact_flow)
{
    replay_all(false);
}

/* Largest distance to the flow at a tenth of TOLERANCE over all steps of the golden cases. */
static double change_when_finer(const json_t *cases, double tolerance)
{
    double worst = 0.0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i), *states = json_object_get(item, "states");
        for (size_t t = 1; t < json_array_size(states); t++) {
            unsigned action = action_of(item, t);
            struct hiv_state coarse = read_state(json_array_get(states, t - 1)), fine = coarse;
            double eps1 = action & 1 ? 0.7 : 0.0, eps2 = action & 2 ? 0.3 : 0.0;
            hiv_flow(&coarse, eps1, eps2, 20.0, tolerance);
            hiv_flow(&fine, eps1, eps2, 20.0, tolerance / 10);
            worst = fmax(worst, distance(&coarse, &fine));
        }
    }
    return worst;
}

Test(hiv, converges_as_its_tolerance_shrinks)
{
    json_t *cases = recordings_of("hiv");
    double usual = change_when_finer(cases, HIV_TOLERANCE);
    cr_assert_leq(usual, 1e-7, "%g", usual);
    double rough = change_when_finer(cases, 100 * HIV_TOLERANCE);
    cr_assert(rough > 10 * usual && rough < 1e-4, "%g after %g", usual, rough);
    json_decref(cases);
}

Test(hiv, steady_states_stay)
{
    /* The roots of the equations: the ill patient under each action, and the uninfected. */
    static const struct hiv_state ill[] = {
        {163572.75, 4.99542, 11944.943, 45.5990, 63918.596, 23.54398},
        {543558.42, 11.950, 6518.06, 45.497, 34988.69, 27.170},
        {234611.0, 7.8230, 10930.39, 45.559, 40779.68, 23.914},
        {774594.66, 34.243, 3218.29, 45.171, 12124.91, 38.903},
    };
    for (unsigned action = 0; action < 4; action++) {
        struct hiv_state state = ill[action];
        hiv_flow(&state, action & 1 ? 0.7 : 0.0, action & 2 ? 0.3 : 0.0, 20.0, HIV_TOLERANCE);
        /* As far as they were printed. */
        cr_assert_leq(distance(&state, &ill[action]), 1e-4, "action %u", action);
    }
}

Test(hiv, an_absent_virus_stays_absent_and_is_seen_as_a_finite_number)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&hiv_env, parameters);
    struct rng rng;
    rng_seed(&rng, 0, 0);
    struct hiv_state healthy = {1e6, 3198.0, 0.0, 0.0, 0.0, 10.0}, after = healthy;
    hiv_env.step(&after, parameters, 0, &rng, seen);
    cr_assert_leq(distance(&after, &healthy), 1e-9);
    cr_assert_float_eq(seen[0], 6.0, 1e-9);
    cr_assert_float_eq(seen[4], -18.0, 1e-9);
}

/* Return of 50 steps of uniform actions, or of ACTION always when it is one. */
static double episode_return(const double *parameters, struct rng *rng, unsigned action)
{
    struct hiv_state state;
    double seen[NUMBERS], total = 0.0;
    hiv_env.reset(&state, parameters, rng, seen);
    for (int t = 0; t < 50; t++) {
        unsigned chosen = action < 4 ? action : rng_below(rng, 4);
        total += hiv_env.step(&state, parameters, chosen, rng, seen).reward;
    }
    return total;
}

Test(hiv, constant_and_uniform_treatments_return_what_the_reference_measured)
{
    static const double wanted[] = {857946.75, 798107.31, 993343.05, 1757168.85};
    double parameters[ENV_MAX_PARAMETERS];
    env_defaults(&hiv_env, parameters);
    struct rng rng;
    rng_seed(&rng, 7, 0);
    for (unsigned action = 0; action < 4; action++)
        cr_assert_float_eq(episode_return(parameters, &rng, action), wanted[action], 1.0);
    enum { EPISODES = 200 };
    double mean = 0.0;
    for (int e = 0; e < EPISODES; e++)
        mean += episode_return(parameters, &rng, 4) / EPISODES;
    /* There: mean 1.478e6, deviation 5.9e5 over 400 episodes. Four joint standard errors. */
    cr_assert_float_eq(mean, 1.478e6, 4 * 5.9e5 * sqrt(1.0 / 400 + 1.0 / EPISODES));
    cr_assert_float_eq(hiv_env.random_return, 1.478e6, 5.9e5 / sqrt(400));
}

Test(hiv, every_patient_starts_alike)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&hiv_env, parameters);
    struct rng rng;
    rng_seed(&rng, 9, 9);
    for (int i = 0; i < 3; i++) {
        struct hiv_state state, start = {163573.0, 5.0, 11945.0, 46.0, 63919.0, 24.0};
        hiv_env.reset(&state, parameters, &rng, seen);
        cr_assert_eq(distance(&state, &start), 0.0);
        expect_observation(seen, &start);
    }
}

/* One short step whose reward is minus the square of a drug's efficacy. */
static double drawn_efficacy(unsigned action, double usual, double deviation, struct rng *rng)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&hiv_env, parameters);
    *parameter(parameters, "days_per_step") = 0.1;
    *parameter(parameters, "Q") = *parameter(parameters, "S") = 0.0;
    *parameter(parameters, "penalty_drug1_R1") = action == 1;
    *parameter(parameters, "penalty_drug2_R2") = action != 1;
    *parameter(parameters, "eps1_on") = *parameter(parameters, "eps2_on") = usual;
    *parameter(parameters, "efficacy_noise_sd") = deviation;
    struct hiv_state state;
    hiv_env.reset(&state, parameters, rng, seen);
    return sqrt(-hiv_env.step(&state, parameters, action, rng, seen).reward);
}

Test(hiv, noise_moves_the_efficacy_of_each_given_drug)
{
    enum { DRAWS = 4000 };
    struct rng rng;
    rng_seed(&rng, 2, 0);
    for (unsigned action = 1; action <= 2; action++) {
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < DRAWS; i++) {
            double e = drawn_efficacy(action, 0.5, 0.01, &rng) - 0.5;
            sum += e;
            squares += e * e;
        }
        /* Five standard errors. */
        cr_assert_float_eq(sum / DRAWS, 0.0, 5 * 0.01 / sqrt(DRAWS));
        cr_assert_float_eq(squares / DRAWS, 1e-4, 5 * 1e-4 * sqrt(2.0 / DRAWS));
    }
    unsigned whole = 0;
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(drawn_efficacy(0, 0.5, 0.01, &rng), 0.0); /* none is given */
        cr_assert_eq(drawn_efficacy(2, 0.5, 0.0, &rng), 0.5);
        double e = drawn_efficacy(1, 1.0, 0.5, &rng);
        cr_assert(e >= 0.0 && e <= 1.0);
        whole += e == 1.0;
    }
    cr_assert(whole > 20 && whole < 80); /* half of them are cut off */
}

/* The state and reward after 20 days of both drugs where one parameter differs. */
static struct hiv_state treated(const char *name, double value, double *out_reward)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&hiv_env, parameters);
    if (name)
        *parameter(parameters, name) = value;
    struct rng rng;
    rng_seed(&rng, 0, 0);
    struct hiv_state state;
    hiv_env.reset(&state, parameters, &rng, seen);
    *out_reward = hiv_env.step(&state, parameters, 3, &rng, seen).reward;
    return state;
}

Test(hiv, each_parameter_moves_the_world_as_the_equations_say)
{
    double usual, other;
    struct hiv_state state = treated(NULL, 0.0, &usual);
    treated("penalty_drug1_R1", 21250.0, &other);
    cr_assert_float_eq(usual - other, 1250 * 0.49, 1e-6);
    treated("penalty_drug2_R2", 2150.0, &other);
    cr_assert_float_eq(usual - other, 150 * 0.09, 1e-6);
    treated("Q", 1.1, &other);
    cr_assert_float_eq(usual - other, state.virus, 1e-6);
    treated("S", 1001.0, &other);
    cr_assert_float_eq(other - usual, state.immune, 1e-6);
    cr_assert_gt(treated("eps1_on", 0.6, &other).virus, state.virus);
    cr_assert_gt(treated("eps2_on", 0.2, &other).virus, state.virus);
    cr_assert_lt(treated("days_per_step", 5.0, &other).t1, state.t1);
    cr_assert_neq(treated("efficacy_noise_sd", 0.01, &other).virus, state.virus);
}

static void play(uint64_t seed, double deviation, double (*out)[NUMBERS], int steps)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS];
    env_defaults(&hiv_env, parameters);
    *parameter(parameters, "efficacy_noise_sd") = deviation;
    struct rng rng;
    rng_seed(&rng, seed, 0);
    struct hiv_state state;
    hiv_env.reset(&state, parameters, &rng, seen);
    for (int t = 0; t < steps; t++)
        hiv_env.step(&state, parameters, (unsigned)t % 4, &rng, out[t]);
}

Test(hiv, a_history_is_that_of_its_seed)
{
    enum { STEPS = 20 };
    double first[STEPS][NUMBERS], again[STEPS][NUMBERS], other[STEPS][NUMBERS];
    play(3, 0.01, first, STEPS);
    play(3, 0.01, again, STEPS);
    play(4, 0.01, other, STEPS);
    cr_assert_eq(memcmp(first, again, sizeof first), 0);
    cr_assert_neq(memcmp(first, other, sizeof first), 0);
    play(3, 0.0, first, STEPS);
    play(4, 0.0, other, STEPS);
    cr_assert_eq(memcmp(first, other, sizeof first), 0); /* no other chance in this world */
}

Test(hiv, no_number_dies_out_under_the_papers_treatments)
{
    double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS], numbers[NUMBERS];
    env_defaults(&hiv_env, parameters);
    *parameter(parameters, "efficacy_noise_sd") = 0.01;
    struct rng rng;
    rng_seed(&rng, 12, 0);
    for (unsigned play = 0; play < 40; play++) {
        /* The ill patient, and the one whose immune system holds the virus lowest. */
        struct hiv_state state = {967838.67, 620.51826, 76.012098, 6.0917816, 415.37565, 353108.04};
        if (play % 2 == 0)
            hiv_env.reset(&state, parameters, &rng, seen);
        for (unsigned t = 0; t < 50; t++) {
            unsigned action = play < 8 ? play / 2 : rng_below(&rng, 4);
            hiv_env.step(&state, parameters, action, &rng, seen);
            take_numbers(&state, numbers);
            for (int k = 0; k < NUMBERS; k++)
                cr_assert(numbers[k] > 1e-12 && numbers[k] < 1e7 && seen[k] == log10(numbers[k]),
                          "play %u step %u number %d: %g", play, t, k, numbers[k]);
        }
    }
}

Test(hiv, is_never_negative_and_always_finite_at_every_corner_of_its_parameters)
{
    unsigned count = hiv_env.parameter_count;
    for (unsigned corner = 0; corner < 1U << count; corner++) {
        double parameters[ENV_MAX_PARAMETERS], seen[NUMBERS], numbers[NUMBERS];
        env_defaults(&hiv_env, parameters);
        for (unsigned i = 0; i < count; i++) {
            const struct env_parameter *p = &hiv_env.parameters[i];
            cr_assert(p->min <= p->value && p->value <= p->max);
            parameters[i] = corner >> i & 1 ? p->max : p->min;
        }
        struct rng rng;
        rng_seed(&rng, corner, 1);
        struct hiv_state state;
        hiv_env.reset(&state, parameters, &rng, seen);
        for (unsigned t = 0; t < 20; t++) {
            struct env_outcome outcome =
                hiv_env.step(&state, parameters, rng_below(&rng, 4), &rng, seen);
            cr_assert(isfinite((float)outcome.reward) && !outcome.terminated);
            take_numbers(&state, numbers);
            for (int k = 0; k < NUMBERS; k++)
                cr_assert(numbers[k] >= 0.0 && numbers[k] < 1e8 && isfinite(seen[k]),
                          "corner %u step %u number %d: %g", corner, t, k, numbers[k]);
        }
    }
}
