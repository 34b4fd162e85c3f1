/* The reference's recordings (tests/golden/environments) through the batch: all cases of a world
 * side by side, each an instance with its own physics and length. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "envs/env_batch.h"

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

static void set_physics(struct env_batch *batch, uint32_t i, const json_t *params)
{
    double values[ENV_MAX_PARAMETERS];
    for (unsigned p = 0; p < batch->env->parameter_count; p++) {
        const json_t *value = json_object_get(params, batch->env->parameters[p].name);
        if (strcmp(batch->env->parameters[p].name, "centrifugal") == 0) {
            const char *equations = json_string_value(json_object_get(params, "book_or_nips"));
            values[p] = strcmp(equations, "book") == 0 ? 1.0 : 0.0;
            continue;
        }
        if (strcmp(batch->env->parameters[p].name, "semi_implicit") == 0) {
            const char *method =
                json_string_value(json_object_get(params, "kinematics_integrator"));
            values[p] = strcmp(method, "euler") == 0 ? 0.0 : 1.0;
            continue;
        }
        cr_assert(json_is_number(value) || json_is_boolean(value), "%s",
                  batch->env->parameters[p].name);
        values[p] = json_is_true(value) ? 1.0 : json_number_value(value);
    }
    env_batch_physics(batch, i, values);
}

static const json_t *at(const json_t *item, const char *key, size_t t)
{
    return json_array_get(json_object_get(item, key), t);
}

/* The case's step T as instance I of the batch took it. Angles modulo a turn. */
static void check(const struct env_batch *batch, uint32_t i, const json_t *item, size_t t,
                  double tolerance)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    double state[STATE_NUMBERS], wanted[STATE_NUMBERS];
    read_state(at(item, "states", t), wanted);
    env_batch_save(batch, i, state);
    for (size_t k = 0; k < STATE_NUMBERS; k++) {
        double off = fabs(state[k] - wanted[k]);
        off = tolerance > 0 ? fmin(off, fabs(2 * M_PI - off)) : off;
        cr_assert(off <= tolerance, "%s step %zu number %zu: off by %g", name, t, k, off);
    }
    cr_assert_eq(batch->rewards[i], json_real_value(at(item, "rewards", t)));
    bool terminated = json_is_true(at(item, "terminated", t));
    cr_assert_eq(batch->ended[i] == ENV_TERMINATED, terminated, "%s step %zu", name, t);
}

/* With ONE_STEP every step starts from the recorded state, else from our own. Returns the number of
 * steps compared. */
static size_t replay(const char *world, bool one_step, double tolerance)
{
    struct recording r = load(world);
    struct env_batch *batch = env_batch_new(env_find(world), r.count, 0);
    cr_assert(batch && batch->env->step_lanes, "%s", world);
    size_t compared = 0;
    bool more = true;
    for (uint32_t i = 0; i < r.count; i++)
        set_physics(batch, i, json_object_get(r.cases[i], "params"));
    for (size_t t = 0; more; t++) {
        uint32_t actions[MOST_CASES] = {0};
        more = false;
        for (uint32_t i = 0; i < r.count; i++) {
            size_t length = json_array_size(json_object_get(r.cases[i], "actions"));
            if (t >= length) /* over: it goes on unobserved */
                continue;
            actions[i] = (uint32_t)json_integer_value(at(r.cases[i], "actions", t));
            double state[STATE_NUMBERS];
            if (t == 0)
                read_state(json_object_get(r.cases[i], "initial_state"), state);
            else
                read_state(at(r.cases[i], "states", t - 1), state);
            if (t == 0 || one_step)
                env_batch_load(batch, i, state);
        }
        cr_assert(env_batch_step(batch, actions));
        for (uint32_t i = 0; i < r.count; i++) {
            if (t >= json_array_size(json_object_get(r.cases[i], "actions")))
                continue;
            check(batch, i, r.cases[i], t, tolerance);
            compared++;
            more = true;
        }
    }
    env_batch_free(batch);
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
