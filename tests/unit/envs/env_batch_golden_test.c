/* The reference's recordings (tests/golden/environments) through step_lanes: all cases of a world
 * side by side, each a lane with its own physics and length. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "envs/env.h"

enum { MOST_CASES = 32, STATE_NUMBERS = 4 };

struct recording {
    json_t *root;
    const json_t *cases[MOST_CASES];
    uint32_t count;
};

static struct recording load(const char *world)
{
    char path[200];
    snprintf(path, sizeof path, "tests/golden/environments/%s.json", world);
    json_error_t error;
    struct recording r = {.root = json_load_file(path, 0, &error)};
    cr_assert(r.root, "run from the repository's root: %s", error.text);
    const json_t *cases = json_object_get(r.root, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        cr_assert_lt(r.count, MOST_CASES);
        r.cases[r.count++] = json_array_get(cases, i);
    }
    return r;
}

static void read_state(const json_t *row, double *state)
{
    cr_assert_eq(json_array_size(row), STATE_NUMBERS);
    for (size_t k = 0; k < STATE_NUMBERS; k++)
        state[k] = json_real_value(json_array_get(row, k));
}

/* A world's lanes, as a batch keeps them. */
struct side {
    const struct env *env;
    double state[STATE_NUMBERS][MOST_CASES], physics[ENV_MAX_PARAMETERS][MOST_CASES];
    uint32_t actions[MOST_CASES];
    float observations[MOST_CASES * ENV_MAX_STATE_DIM];
    double rewards[MOST_CASES];
    uint8_t terminated[MOST_CASES];
};

static void set_physics(struct side *side, uint32_t i, const json_t *params)
{
    double values[ENV_MAX_PARAMETERS];
    for (unsigned p = 0; p < side->env->parameter_count; p++) {
        const json_t *value = json_object_get(params, side->env->parameters[p].name);
        if (strcmp(side->env->parameters[p].name, "centrifugal") == 0) {
            const char *equations = json_string_value(json_object_get(params, "book_or_nips"));
            values[p] = strcmp(equations, "book") == 0 ? 1.0 : 0.0;
            continue;
        }
        if (strcmp(side->env->parameters[p].name, "semi_implicit") == 0) {
            const char *method =
                json_string_value(json_object_get(params, "kinematics_integrator"));
            values[p] = strcmp(method, "euler") == 0 ? 0.0 : 1.0;
            continue;
        }
        cr_assert(json_is_number(value) || json_is_boolean(value), "%s",
                  side->env->parameters[p].name);
        values[p] = json_is_true(value) ? 1.0 : json_number_value(value);
    }
    for (unsigned p = 0; p < side->env->parameter_count; p++)
        side->physics[p][i] = values[p];
}

static const json_t *at(const json_t *item, const char *key, size_t t)
{
    return json_array_get(json_object_get(item, key), t);
}

/* The case's step T as lane I took it. Angles modulo a turn. */
static void check(const struct side *side, uint32_t i, const json_t *item, size_t t,
                  double tolerance)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    double wanted[STATE_NUMBERS];
    read_state(at(item, "states", t), wanted);
    for (size_t k = 0; k < STATE_NUMBERS; k++) {
        double off = fabs(side->state[k][i] - wanted[k]);
        off = tolerance > 0 ? fmin(off, fabs(2 * M_PI - off)) : off;
        cr_assert(off <= tolerance, "%s step %zu number %zu: off by %g", name, t, k, off);
    }
    cr_assert_eq(side->rewards[i], json_real_value(at(item, "rewards", t)));
    bool terminated = json_is_true(at(item, "terminated", t));
    cr_assert_eq((bool)side->terminated[i], terminated, "%s step %zu", name, t);
}

/* With ONE_STEP every step starts from the recorded state, else from our own. Returns the number of
 * steps compared. */
static size_t replay(const char *world, bool one_step, double tolerance)
{
    struct recording r = load(world);
    _Alignas(64) struct side side = {.env = env_find(world)};
    const struct env_lanes lanes = {side.state[0],  side.physics[0],   MOST_CASES,
                                    side.actions,   side.observations, side.rewards,
                                    side.terminated};
    cr_assert(side.env && side.env->step_lanes, "%s", world);
    size_t compared = 0;
    bool more = true;
    for (uint32_t i = 0; i < MOST_CASES; i++) /* lanes without a case of their own play the first */
        set_physics(&side, i, json_object_get(r.cases[i < r.count ? i : 0], "params"));
    for (size_t t = 0; more; t++) {
        more = false;
        for (uint32_t i = 0; i < r.count; i++) {
            size_t length = json_array_size(json_object_get(r.cases[i], "actions"));
            if (t >= length) /* over: it goes on unobserved */
                continue;
            side.actions[i] = (uint32_t)json_integer_value(at(r.cases[i], "actions", t));
            double state[STATE_NUMBERS];
            if (t == 0)
                read_state(json_object_get(r.cases[i], "initial_state"), state);
            else
                read_state(at(r.cases[i], "states", t - 1), state);
            for (unsigned k = 0; (t == 0 || one_step) && k < STATE_NUMBERS; k++)
                side.state[k][i] = state[k];
        }
        side.env->step_lanes(&lanes, MOST_CASES / ENV_LANES);
        for (uint32_t i = 0; i < r.count; i++) {
            if (t >= json_array_size(json_object_get(r.cases[i], "actions")))
                continue;
            check(&side, i, r.cases[i], t, tolerance);
            compared++;
            more = true;
        }
    }
    json_decref(r.root);
    return compared;
}

Test(env_batch_golden, cartpoles_side_by_side_give_the_reference_bits)
{
    cr_assert_eq(replay("cartpole", false, 0.0), 5516);
    cr_assert_eq(replay("cartpole", true, 0.0), 5516);
}

Test(env_batch_golden, acrobots_side_by_side_give_the_reference)
{
    cr_assert_eq(replay("acrobot", true, 1e-11), 3376);
}
