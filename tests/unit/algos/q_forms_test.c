/* Q-functions in forms that a guarantee can rest on: knots in a class, and public features. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/release/knots.h"
#include "algos/release/relu_features.h"
#include "envs/rng.h"

enum { BITS = 6, KNOTS = (1 << BITS) + 1, ACTIONS = 3 };
static const struct lipschitz_class class = {.lipschitz = 4.0, .value_limit = 1.5};

static void expect_member(const double *values)
{
    double step = class.lipschitz / (1 << BITS), error = knots_error(BITS, ACTIONS, &class);
    cr_assert(error < 1e-12);
    for (int a = 0; a < ACTIONS; a++)
        for (int i = 0; i < KNOTS; i++) {
            cr_expect(fabs(values[i * ACTIONS + a]) <= class.value_limit);
            if (i > 0)
                cr_expect(fabs(values[i * ACTIONS + a] - values[(i - 1) * ACTIONS + a]) <=
                          step + 2.0 * error);
        }
}

Test(knots, anything_becomes_a_member)
{
    double values[KNOTS * ACTIONS], scratch[KNOTS];
    struct rng rng;
    rng_seed(&rng, 81, 0);
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -0.0};
    for (int round = 0; round < 200; round++) {
        double wild = round % 3 == 0 ? 0.1 : round % 3 == 1 ? 3.0 : 1e6;
        for (int i = 0; i < KNOTS * ACTIONS; i++)
            values[i] = wild * rng_normal(&rng);
        if (round % 7 == 0)
            values[rng_below(&rng, KNOTS * ACTIONS)] = odd[round % 5];
        knots_enforce(values, BITS, ACTIONS, &class, scratch);
        expect_member(values);
    }
}

Test(knots, members_stay_as_they_are)
{
    double values[KNOTS * ACTIONS], before[KNOTS * ACTIONS], scratch[KNOTS];
    for (int i = 0; i < KNOTS; i++)
        for (int a = 0; a < ACTIONS; a++)
            before[i * ACTIONS + a] = values[i * ACTIONS + a] =
                sin(2.5 * (a + 1) / 3.0 * i / (KNOTS - 1.0) + a);
    knots_enforce(values, BITS, ACTIONS, &class, scratch);
    for (int i = 0; i < KNOTS * ACTIONS; i++)
        cr_expect_float_eq(values[i], before[i], 1e-14);
}

/* A step of height 2 is spread out evenly on both sides: the member nearest to it everywhere. */
Test(knots, a_step_is_spread_out)
{
    double values[KNOTS], scratch[KNOTS];
    for (int i = 0; i < KNOTS; i++)
        values[i] = i < KNOTS / 2 ? -1.0 : i == KNOTS / 2 ? 0.0 : 1.0;
    knots_enforce(values, BITS, 1, &class, scratch);
    cr_expect_float_eq(values[KNOTS / 2], 0.0, 1e-12);
    cr_expect_float_eq(values[0], -1.0, 1e-12);
    cr_expect_float_eq(values[KNOTS - 1], 1.0, 1e-12);
    for (int i = 1; i < KNOTS; i++)
        cr_expect(values[i] >= values[i - 1] - 1e-12);
    cr_expect_float_eq(values[KNOTS / 2 + 4] - values[KNOTS / 2 - 4], 10 * 4.0 / 64 / 2, 1e-12);
}

Test(knots, between_them_the_function_is_linear)
{
    double values[KNOTS * ACTIONS], out[ACTIONS];
    for (int i = 0; i < KNOTS * ACTIONS; i++)
        values[i] = (double)(i * i % 17) / 17.0;
    for (uint32_t index = 0; index <= 1U << 12; index++) {
        knots_at(values, BITS, ACTIONS, 12, index, out);
        double x = index / 64.0, share = x - floor(x);
        size_t cell = (size_t)x;
        for (size_t a = 0; a < ACTIONS; a++) {
            double right = cell < KNOTS - 1 ? values[(cell + 1) * ACTIONS + a] : 0.0;
            double want = (1 - share) * values[cell * ACTIONS + a] + share * right;
            cr_expect_float_eq(out[a], want, 1e-15);
        }
    }
}

Test(relu_features, are_at_most_one_on_the_cube)
{
    struct rng rng;
    rng_seed(&rng, 82, 0);
    for (uint32_t way = 0; way < 12; way++) {
        uint32_t input = 1 + way / 2;
        struct relu_features f;
        double state[6], phi[64];
        relu_features_init(&f, input, 64, 5, way % 2);
        double most = 0.0;
        for (int k = 0; k < 4000; k++) {
            double norm = 0.0;
            for (uint32_t j = 0; j < input; j++) /* corners are where features are greatest */
                state[j] = k < 2000 ? (double)rng_below(&rng, 2) : rng_uniform(&rng);
            relu_features_at(&f, state, phi);
            for (int i = 0; i < 64; i++)
                norm += phi[i] * phi[i];
            most = fmax(most, norm);
        }
        cr_expect(most <= 1.0 && most > 0.1, "%g", most);
        relu_features_clear(&f);
    }
}

/* A function of the features is found again, and the network says the same at raw states. */
static void fit_and_become_a_network(bool centred)
{
    enum { INPUT = 4, COUNT = 40, POINTS = 3000 };
    static const double low[INPUT] = {-2, -3, 0, -1}, high[INPUT] = {2, 3, 1, 5};
    static double states[POINTS * INPUT], targets[POINTS * 2], found[2 * COUNT];
    memset(targets, 0, sizeof targets);
    double truth[2 * COUNT], phi[COUNT];
    struct rng rng;
    struct relu_features f;
    rng_seed(&rng, 83, 0);
    relu_features_init(&f, INPUT, COUNT, 6, centred);
    for (int i = 0; i < 2 * COUNT; i++)
        truth[i] = rng_normal(&rng);
    for (int p = 0; p < POINTS; p++) {
        for (int j = 0; j < INPUT; j++)
            states[p * INPUT + j] = rng_uniform(&rng);
        relu_features_at(&f, states + (size_t)p * INPUT, phi);
        for (int a = 0; a < 2; a++)
            for (int i = 0; i < COUNT; i++)
                targets[p * 2 + a] += truth[a * COUNT + i] * phi[i];
    }
    relu_features_fit(&f, states, targets, POINTS, 2, 1e-12, found);
    struct policy *policy = relu_features_policy(&f, low, high, found, 2);
    cr_assert_not_null(policy);
    for (int p = 0; p < 200; p++) {
        float raw[INPUT], values[2];
        for (int j = 0; j < INPUT; j++)
            raw[j] = (float)(low[j] + states[p * INPUT + j] * (high[j] - low[j]));
        cr_assert(policy_values(policy, raw, values));
        cr_expect_float_eq(values[0], targets[p * 2], 2e-4);
        cr_expect_float_eq(values[1], targets[p * 2 + 1], 2e-4);
    }
    policy_free(policy);
    relu_features_clear(&f);
}

Test(relu_features, fit_and_become_a_network)
{
    fit_and_become_a_network(false);
    fit_and_become_a_network(true);
}
