/* Local privacy of observations: its price and its law. */
#include "algos/online/observation_privacy.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/privacy/noise/noise.h"
#include "envs/env.h"

/* Deviation in units of the range of one observation of 4 numbers, and what H observations cost at
 * the deviation that makes them cost epsilon: by an independent program, delta 1e-5. */
Test(observation_privacy, costs_what_the_analytic_gaussian_costs)
{
    static const struct {
        double epsilon, one, h200, h500;
    } table[] = {{0.5, 14.1, 199, 314},
                 {1, 7.46, 106, 167},
                 {2, 3.99, 56.4, 89.2},
                 {5, 1.78, 25.2, 39.9},
                 {10, 1.00, 14.1, 22.4}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct dp_sgd_plan plan;
        double epsilon = table[i].epsilon;
        cr_assert_eq(observation_plan(4, epsilon, 1e-5, &plan), DP_SGD_PLAN_OK);
        cr_expect_leq(plan.epsilon, epsilon);
        cr_expect_float_eq(observation_noise(&plan), table[i].one, 0.01 * table[i].one);
        cr_expect_float_eq(observation_epsilon(&plan, 1), plan.epsilon, 1e-6);
        cr_expect_gt(observation_epsilon(&plan, 200), epsilon);
        plan.noise_multiplier = table[i].h200 / 2.0;
        cr_expect_float_eq(observation_epsilon(&plan, 200), epsilon, 0.01 * epsilon);
        plan.noise_multiplier = table[i].h500 / 2.0;
        cr_expect_float_eq(observation_epsilon(&plan, 500), epsilon, 0.01 * epsilon);
    }
    struct dp_sgd_plan plan;
    cr_expect_eq(observation_plan(4, -1, 1e-5, &plan), DP_SGD_PLAN_BAD);
    cr_expect_eq(observation_plan(4, 1, 0, &plan), DP_SGD_PLAN_BAD);
}

Test(observation_privacy, every_world_has_bounds_and_others_need_one)
{
    unsigned count;
    const struct env *const *all = env_all(&count);
    struct observation_bounds bounds;
    for (unsigned w = 0; w < count; w++) {
        uint32_t dim = all[w]->state_dim;
        cr_assert(observation_bounds_of(all[w]->name, dim, 0, &bounds), "%s", all[w]->name);
        cr_assert_eq(bounds.count, dim);
        for (uint32_t i = 0; i < dim; i++)
            cr_expect_lt(bounds.low[i], bounds.high[i]);
        cr_expect_not(observation_bounds_of(all[w]->name, dim + 1, 0, &bounds));
    }
    cr_expect_not(observation_bounds_of("mars", 3, 0, &bounds));
    cr_assert(observation_bounds_of("mars", 3, 2.5, &bounds));
    cr_expect(bounds.count == 3 && bounds.low[2] == -2.5 && bounds.high[2] == 2.5);
    cr_expect_not(observation_bounds_of("mars", ENV_MAX_STATE_DIM + 1, 2.5, &bounds));
}

/* Mean and deviation of what is shown of STATE, in units of the ranges, of 40,000 draws: each
 * within 5 of its own deviations (false alarm 6e-7 a figure). */
static void check_law(const struct observation_bounds *bounds, const struct dp_sgd_plan *plan,
                      struct noise_source *noise, const float *state, const double *expected)
{
    enum { DRAWS = 40000 };
    double sum[4] = {0}, squares[4] = {0}, s = observation_noise(plan);
    for (int k = 0; k < DRAWS; k++) {
        float seen[4];
        memcpy(seen, state, sizeof seen);
        observation_hide(bounds, plan, noise, seen);
        for (int i = 0; i < 4; i++) {
            double part = (seen[i] - bounds->low[i]) / (bounds->high[i] - bounds->low[i]);
            sum[i] += part - expected[i];
            squares[i] += (part - expected[i]) * (part - expected[i]);
        }
    }
    for (int i = 0; i < 4; i++) {
        cr_expect_float_eq(sum[i] / DRAWS, 0.0, 5.0 * s / sqrt(DRAWS));
        cr_expect_float_eq(squares[i] / DRAWS / (s * s), 1.0, 5.0 * sqrt(2.0 / DRAWS));
    }
}

Test(observation_privacy, noises_what_is_clipped)
{
    static const uint8_t key[32] = {1};
    struct observation_bounds bounds;
    struct dp_sgd_plan plan;
    struct noise_source *noise = noise_source_new_injected(key);
    cr_assert(observation_bounds_of("cartpole", 4, 0, &bounds));
    cr_assert_eq(observation_plan(4, 5, 1e-5, &plan), DP_SGD_PLAN_OK);
    check_law(&bounds, &plan, noise, (const float[]){0, 1.5F, 0, 0},
              (const double[]){0.5, 0.75, 0.5, 0.5});
    check_law(&bounds, &plan, noise, (const float[]){1e30F, -INFINITY, NAN, INFINITY},
              (const double[]){1, 0, 0, 1});
    noise_source_free(noise);
}

/* What is shown is a function of the rounded part plus whole noise: under the same noise two states
 * differ by the same number of steps always. */
Test(observation_privacy, rounds_before_it_adds_noise)
{
    static const uint8_t key[32] = {2};
    struct observation_bounds bounds;
    struct dp_sgd_plan plan;
    cr_assert(observation_bounds_of("mars", 1, 0.5, &bounds));
    cr_assert_eq(observation_plan(1, 5, 1e-5, &plan), DP_SGD_PLAN_OK);
    struct noise_source *a = noise_source_new_injected(key), *b = noise_source_new_injected(key);
    double first = 0.0;
    for (int i = 0; i < 1000; i++) {
        float low = -0.5F, other = 0.123F;
        observation_hide(&bounds, &plan, a, &low);
        observation_hide(&bounds, &plan, b, &other);
        double apart = (double)other - (double)low;
        first = i == 0 ? apart : first;
        cr_assert_eq(apart, first);
    }
    cr_expect_float_eq(first, 0.623, 1e-3);
    noise_source_free(a);
    noise_source_free(b);
}
