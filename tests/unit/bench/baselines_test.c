/* The baselines of the one-dimensional world: noise, determinism, and that they learn. */
#include "bench/gp/baselines.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/laws/gaussian_dp.h"

static struct baseline_result result_of(enum baseline baseline, double epsilon, double distance,
                                        uint64_t seed)
{
    struct baseline_result result;
    const struct baseline_run run = {
        .baseline = baseline, .epsilon = epsilon, .distance = distance, .seed = seed};
    cr_assert(baseline_run_one(&run, &result));
    return result;
}

static const enum baseline least_squares[] = {BASELINE_LSW,       BASELINE_LSW_PUBLISHED,
                                              BASELINE_LSL,       BASELINE_REWARD_LSW,
                                              BASELINE_INPUT_LSW, BASELINE_LOCAL};
enum { LEAST_SQUARES = sizeof least_squares / sizeof least_squares[0] };

Test(baselines, a_seed_is_a_run)
{
    for (int i = 0; i < LEAST_SQUARES; i++) {
        struct baseline_result a = result_of(least_squares[i], 0.9, 0.01, 5),
                               b = result_of(least_squares[i], 0.9, 0.01, 5),
                               c = result_of(least_squares[i], 0.9, 0.01, 6);
        for (int k = 0; k < BASELINE_NUMBERS; k++)
            cr_expect_eq(a.number[k], b.number[k]);
        cr_expect_eq(a.final, b.final);
        cr_expect_neq(a.number[0], c.number[0]);
    }
}

/* A random policy gets 10.8 and the best one about 20.7. */
Test(baselines, without_noise_all_play_well)
{
    for (int i = 0; i < LEAST_SQUARES; i++)
        cr_expect_gt(result_of(least_squares[i], INFINITY, 1, 1).final, 20.0, "%d", i);
}

static double epsilon_of(double sensitivity, double sigma)
{
    return gaussian_dp_epsilon(sensitivity / sigma, METHODS_DELTA);
}

Test(baselines, noise_is_what_the_stated_epsilon_asks_for)
{
    const double distance = 0.01, steps = BASELINE_EPISODES * LINE_STEPS;
    /* Rewards that rise everywhere move the returns by 2 distance and both constants by that times
     * the norm of their columns' sums. */
    double moved = 2.0 * distance * sqrt(2.0 * BASELINE_CELLS);
    cr_expect_float_eq(epsilon_of(moved, result_of(BASELINE_REWARD_LSW, 0.9, distance, 1).sigma),
                       0.9, 1e-6);
    cr_expect_float_eq(
        epsilon_of(distance * sqrt(steps), result_of(BASELINE_INPUT_LSW, 0.9, distance, 1).sigma),
        0.9, 1e-6);
    cr_expect_float_eq(epsilon_of(distance * sqrt(steps),
                                  result_of(BASELINE_INPUT_NETWORK, 0.9, distance, 1).sigma),
                       0.9, 1e-6);
    cr_expect_float_eq(epsilon_of(sqrt(3.0), result_of(BASELINE_LOCAL, 0.45, 1, 1).sigma), 0.45,
                       1e-6);
    /* In each of 500 updates ten gradients may turn around. */
    cr_expect_float_eq(
        epsilon_of(2.0 * 10.0 * sqrt(500.0), result_of(BASELINE_DPSGD, 0.9, 1, 1).sigma), 0.9,
        1e-6);
}

Test(baselines, rewards_in_a_half_differ_by_no_more_than_that)
{
    cr_expect_eq(result_of(BASELINE_INPUT_LSW, 0.9, 1, 1).sigma,
                 result_of(BASELINE_INPUT_LSW, 0.9, 0.5, 1).sigma);
    cr_expect_eq(result_of(BASELINE_REWARD_LSW, 0.9, 1, 1).sigma,
                 result_of(BASELINE_REWARD_LSW, 0.9, 0.5, 1).sigma);
}

/* 400 squares of standard normal numbers have a mean within 0.35 of 1 but for one case in 10^5. */
Test(baselines, coefficients_have_the_noise_that_is_stated)
{
    double sum = 0.0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct baseline_result with = result_of(BASELINE_REWARD_LSW, 0.9, 0.1, seed),
                               none = result_of(BASELINE_REWARD_LSW, INFINITY, 0.1, seed);
        for (int k = 0; k < BASELINE_NUMBERS; k++) {
            double z = (with.number[k] - none.number[k]) / with.sigma;
            sum += z * z;
        }
    }
    cr_expect_float_eq(sum / (100 * BASELINE_NUMBERS), 1.0, 0.35);
}

Test(baselines, published_noise_is_greater_and_its_claim_is_not_the_truth)
{
    struct baseline_result published = result_of(BASELINE_LSW_PUBLISHED, 0.9, 1, 1),
                           priced = result_of(BASELINE_LSW, 0.9, 1, 1);
    cr_expect_gt(published.sigma, 2.0 * priced.sigma);
    cr_expect_leq(published.epsilon, 0.3);
    cr_expect_eq(priced.epsilon, 0.9);
    /* At its own true epsilon the smaller smoothness is worth nothing but a little. */
    double again = result_of(BASELINE_LSW, published.epsilon, 1, 1).sigma;
    cr_expect_leq(again, published.sigma);
    cr_expect_geq(again, 0.5 * published.sigma);
}
