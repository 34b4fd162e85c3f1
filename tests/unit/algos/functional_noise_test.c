/* Why Algorithm 1 of Wang and Hegde 2019, as printed, is never released: one update at one state is
 * a Gaussian mechanism on the reward whose noise is that of the path, whatever the learning rate,
 * while their Theorem 5 lets the path's noise fall with it. Our accountants give the true delta. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_pld.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/training/dp_sgd_plan.h"
#include "bench/gp/functional_noise.h"

/* Claimed: (epsilon, delta); true delta at that epsilon and true epsilon at 1e-4, from the audit
 * of the paper ("Q-learning with functional noise": docs/proofs/gaussian_process.md). */
static const struct {
    double epsilon, rate, k, sigma, delta, true_epsilon;
} cases[] = {{0.9, 1e-4, 25, 0.4861, 0.547, 9.20},
             {0.9, 1e-3, 26, 1.640, 0.0286, 2.13},
             {0.45, 1e-4, 50, 1.315, 0.157, 2.76}};
enum { CASES = sizeof cases / sizeof cases[0] };
static const double claimed_delta = 1e-4;

static double sigma_of(int i)
{
    bool holds = false;
    double sigma = functional_noise_claimed_sigma(cases[i].epsilon, claimed_delta, cases[i].rate, 1,
                                                  1, 1.0, cases[i].k, &holds);
    cr_assert(holds); /* the theorem's own condition */
    cr_assert_float_eq(sigma, cases[i].sigma, 6e-4);
    return sigma;
}

/* The release as a plan like any other: one step at rate 1, noise sigma to a change of 1. */
static struct composition plan_of(double sigma)
{
    struct composition plan = {0};
    const struct mechanism one = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, sigma}};
    cr_assert_eq(composition_add(&plan, &one, 1), COMPOSITION_OK);
    return plan;
}

Test(functional_noise, our_accountants_give_the_counter_example_its_true_delta)
{
    for (int i = 0; i < CASES; i++) {
        double sigma = sigma_of(i);
        struct composition plan = plan_of(sigma);
        struct privacy_interval delta, exact, epsilon;
        cr_assert_eq(accountant_pld_figure(&plan, PLD_DELTA, cases[i].epsilon,
                                           &ACCOUNTANT_PLD_EFFORT, &delta),
                     ACCOUNTANT_OK);
        cr_assert_eq(accountant_epsilon(&accountant_exact, &plan, claimed_delta, &epsilon),
                     ACCOUNTANT_OK);
        exact = gaussian_dp_delta_interval(1.0 / sigma, cases[i].epsilon);
        cr_expect_float_eq(exact.upper, cases[i].delta, 6e-3 * cases[i].delta);
        cr_expect_leq(delta.lower, exact.upper);
        cr_expect_geq(delta.upper, exact.lower);
        cr_expect_float_eq(delta.upper, exact.upper, 1e-3 * exact.upper);
        cr_expect_float_eq(epsilon.upper, cases[i].true_epsilon, 6e-3 * cases[i].true_epsilon);
        cr_expect_gt(delta.lower, 100 * claimed_delta); /* the claim is off by far more than that */
        struct dp_sgd_plan one = {.sampling_rate = 1,
                                  .noise_multiplier = sigma,
                                  .clip_norm = 1,
                                  .batch_size = 1,
                                  .nominal_experts = 1,
                                  .steps = 1,
                                  .delta = claimed_delta};
        cr_assert_eq(dp_sgd_plan_account(&one), DP_SGD_PLAN_OK);
        cr_expect_gt(one.epsilon_lower, 2 * cases[i].epsilon);
        composition_clear(&plan);
    }
}

/* Algorithm 1 itself on the counter-example: Q(s) = theta s + b at s = 1, no discount, one update.
 * The weight it returns is normal about -rate (Q - r), of deviation rate sigma: so an adversary
 * sees the reward through noise sigma. 20000 runs; four bounds at 5 deviations each, so it fails
 * by chance in 2 runs of a million. */
Test(functional_noise, as_printed_returns_the_reward_through_the_noise_of_the_path_alone)
{
    enum { RUNS = 20000 };
    static const uint8_t key[32] = {77};
    struct noise_source *noise = noise_source_new_injected(key);
    double sigma = sigma_of(0), rate = cases[0].rate;
    const struct functional_noise_settings settings = {
        .shape = {.input = 1, .layer_count = 1, .width = {1}, .activation = MLP_RELU},
        .rate = rate,
        .batch = 1,
        .updates_per_path = 1,
        .beta = 1.0 / (4.0 * rate * (cases[0].k + 1.0)),
        .sigma = sigma};
    for (int world = 0; world < 2; world++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < RUNS; i++) {
            const float zero[2] = {0.0F, 0.0F};
            const struct functional_noise_step step = {
                .state = 1.0, .reward = world, .terminated = true};
            struct functional_noise *f = functional_noise_new(&settings, zero, noise);
            cr_assert(functional_noise_update(f, &step));
            double seen = (double)functional_noise_parameters(f)[0] / rate; /* r - g */
            mean += seen / RUNS;
            squares += seen * seen / RUNS;
            functional_noise_free(f);
        }
        double deviation = sqrt(squares - mean * mean);
        cr_expect_float_eq(mean, world, 5 * sigma / sqrt(RUNS));
        cr_expect_float_eq(deviation, sigma, 5 * sigma / sqrt(2.0 * RUNS));
    }
    noise_source_free(noise);
}

/* No sigma hides all rewards: two states of one batch that are close together have nearly the same
 * path under them, and the returned weights tell both errors. Q(s) = w s + b, from zero: db and dw
 * give the two errors, whose difference is that of the rewards and sigma sqrt(2 (1 - exp(-beta
 * gap))) times a normal. Rewards of neighbours may make it 2, so mu is at least 2 over that, and
 * grows without bound as the gap closes, at any learning rate. A variance of 4000 runs within 5
 * deviations: 1 false alarm in a million. */
Test(functional_noise, close_states_show_rewards_through_any_noise)
{
    enum { RUNS = 4000 };
    static const uint8_t key[32] = {78};
    static const double gaps[] = {0x1p-4, 0x1p-7, 0x1p-10};
    const struct functional_noise_settings settings = {
        .shape = {.input = 1, .layer_count = 1, .width = {1}, .activation = MLP_RELU},
        .rate = 0.25,
        .batch = 2,
        .updates_per_path = 1,
        .beta = 4.0,
        .sigma = 1.0};
    struct noise_source *noise = noise_source_new_injected(key);
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        double squares = 0;
        for (int i = 0; i < RUNS; i++) {
            const float zero[2] = {0.0F, 0.0F};
            const struct functional_noise_step steps[2] = {
                {.state = 0.5, .terminated = true}, {.state = 0.5 + gaps[g], .terminated = true}};
            struct functional_noise *f = functional_noise_new(&settings, zero, noise);
            cr_assert(functional_noise_update(f, steps));
            const float *moved = functional_noise_parameters(f);
            double sum = -(double)moved[1] * 8.0, product = -(double)moved[0] * 8.0;
            double second = (product - 0.5 * sum) / gaps[g];
            squares += (2.0 * second - sum) * (2.0 * second - sum) / RUNS;
            functional_noise_free(f);
        }
        double expected = 2.0 * (1.0 - exp(-4.0 * gaps[g]));
        cr_expect_float_eq(squares, expected, 5 * sqrt(2.0 / RUNS) * expected, "gap %g", gaps[g]);
    }
    noise_source_free(noise);
}

/* One state and one action, a value of one weight: the weight returned is normal, and a reward that
 * is 1 higher moves its mean; how far apart these are in its deviation is what all updates together
 * tell of a constant, in closed form (docs/results/gp.md). Bounds as above. */
Test(functional_noise, one_state_is_a_gaussian_in_closed_form)
{
    enum { RUNS = 3000, UPDATES = 24 };
    static const uint8_t key[32] = {79};
    static const uint32_t per_path[] = {1, 8, UPDATES};
    struct noise_source *noise = noise_source_new_injected(key);
    for (int k = 0; k < 3; k++) {
        const struct functional_noise_settings settings = {
            .shape = {.input = 1, .layer_count = 1, .width = {1}, .activation = MLP_RELU},
            .rate = 0.2,
            .batch = 1,
            .updates_per_path = per_path[k],
            .discount = 0.5,
            .beta = 4.0,
            .sigma = 0.5};
        double mean[2] = {0, 0}, squares = 0, moved = 0, block = 0, variance = 0;
        for (int i = 0; i < 2 * RUNS; i++) {
            const float zero[2] = {0.0F, 0.0F};
            const struct functional_noise_step step = {.reward = i % 2};
            struct functional_noise *f = functional_noise_new(&settings, zero, noise);
            for (int j = 0; j < UPDATES; j++)
                cr_assert(functional_noise_update(f, &step));
            double b = (double)functional_noise_parameters(f)[1];
            mean[i % 2] += b / RUNS;
            squares += i % 2 ? 0.0 : b * b / RUNS;
            functional_noise_free(f);
        }
        for (int j = 0; j < UPDATES; j++) {
            double weight = 0.2 * pow(0.9, UPDATES - 1 - j);
            moved += weight;
            block += weight;
            if ((j + 1) % (int)per_path[k] == 0) {
                variance += 0.25 * 0.25 * block * block; /* (1 - discount) sigma */
                block = 0;
            }
        }
        double own = squares - mean[0] * mean[0];
        cr_expect_float_eq(own, variance, 5 * sqrt(2.0 / RUNS) * variance, "%d", k);
        cr_expect_float_eq(mean[1] - mean[0], moved, 5 * sqrt(2 * variance / RUNS), "%d", k);
    }
    noise_source_free(noise);
}
