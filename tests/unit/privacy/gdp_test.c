/* Gaussian differential privacy against its oracles. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/laws/subsampled_gaussian.h"
#include "tests/unit/privacy/golden.h"

#define CLOSE(got, want, tolerance)                                                                \
    cr_expect_float_eq((got) / (want), 1.0, tolerance, "row %zu: %.17g for %.17g", i, got, want)

Test(gaussian_dp, oracles)
{
    json_t *root = golden_load("gaussian.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "sigma_for_eps_delta"), i, one)
    {
        double epsilon = golden_number(one, "epsilon"), delta = golden_number(one, "delta");
        double want = golden_number(one, "sigma");
        double got = gaussian_dp_sigma(2.5, epsilon, delta) / 2.5;
        CLOSE(got, want, 2.0 * GAUSSIAN_DP_ERROR);
        cr_expect_geq(got, want * (1.0 - 1e-15), "never too little noise");
    }
    cr_assert_eq(i, 64);
    json_array_foreach(json_object_get(root, "eps_for_sigma_delta"), i, one)
    {
        double mu = 1.0 / golden_number(one, "sigma"), delta = golden_number(one, "delta");
        double want = golden_number(one, "epsilon");
        struct privacy_interval got = gaussian_dp_epsilon_interval(mu, delta);
        cr_expect(got.lower <= want && want <= got.upper, "row %zu", i);
        if (want > 0.0)
            CLOSE(gaussian_dp_epsilon(mu, delta), want, 1e-13);
    }
    json_array_foreach(json_object_get(root, "delta"), i, one)
    {
        double mu = golden_number(one, "mu"), epsilon = golden_number(one, "epsilon");
        double want = golden_number(one, "delta");
        struct privacy_interval got = gaussian_dp_delta_interval(mu, epsilon);
        CLOSE(exp(gaussian_dp_log_delta(mu, epsilon)), want, 1e-13);
        cr_expect(got.lower <= want && want <= got.upper, "row %zu", i);
    }
    json_decref(root);
}

Test(gaussian_dp, composition_oracles)
{
    json_t *root = golden_load("gaussian.json"), *one, *at;
    size_t i, j;
    json_array_foreach(json_object_get(root, "composition"), i, one)
    {
        struct composition composition = {0};
        json_array_foreach(json_object_get(one, "noise"), j, at)
        {
            struct mechanism mechanism = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                                          .gaussian = {1.0, golden_number(at, "noise_multiplier")}};
            uint64_t times = (uint64_t)golden_number(at, "times");
            cr_assert_eq(composition_add(&composition, &mechanism, times), COMPOSITION_OK);
        }
        CLOSE(gaussian_dp_mu(&composition), golden_number(one, "mu"), 1e-15);
        json_array_foreach(json_object_get(one, "at"), j, at)
        {
            double epsilon = golden_number(at, "epsilon"), delta = golden_number(at, "delta");
            struct privacy_interval got;
            if (epsilon == 0.0) {
                cr_assert_eq(accountant_epsilon(&accountant_gdp, &composition, delta, &got),
                             ACCOUNTANT_OK);
                cr_expect(got.lower == 0.0 && got.upper == 0.0);
                continue;
            }
            cr_assert_eq(accountant_delta(&accountant_gdp, &composition, epsilon, &got),
                         ACCOUNTANT_OK);
            cr_expect(got.lower <= delta && delta <= got.upper);
            if (delta < 1e-290) {
                cr_expect_leq(got.upper, 1e-290);
                continue;
            }
            CLOSE(got.upper, delta, 5e-9); /* deltas of 1e-260 among them */
            cr_assert_eq(accountant_epsilon(&accountant_gdp, &composition, delta, &got),
                         ACCOUNTANT_OK);
            cr_expect(got.lower <= epsilon && epsilon <= got.upper);
            CLOSE(got.upper, epsilon, 1e-11);
        }
        composition_clear(&composition);
    }
    cr_assert_eq(i, 10);
    json_decref(root);
}

/* Where doubles end: values from 1200-digit arithmetic. */
Test(gaussian_dp, far_tails)
{
    cr_expect_float_eq(gaussian_dp_log_delta(0.5, 10.0), -202.6420820973964, 1e-12);
    cr_expect_float_eq(gaussian_dp_log_delta(1e-9, 1e-9), -23.20838686215905, 1e-13);
    cr_expect_float_eq(gaussian_dp_log_delta(60.0, 1000.0) / -9.533327827101288e-41, 1.0, 1e-12);
    cr_expect_float_eq(gaussian_dp_epsilon(0.5, exp(-202.6420820973964)), 10.0, 1e-12);
    cr_expect_eq(gaussian_dp_epsilon(1e-4, 0.5), 0.0);
}

Test(gaussian_dp, inverses)
{
    struct noise_source *noise = golden_noise(62);
    for (int k = 0; k < 2000; k++) {
        size_t i = (size_t)k;
        double mu = exp(12.0 * noise_uniform(noise) - 8.0);
        double epsilon = mu * (0.5 * mu + 8.0 * noise_uniform(noise));
        double delta = exp(gaussian_dp_log_delta(mu, epsilon));
        if (delta > 0.999 || delta < 1e-300)
            continue;
        CLOSE(gaussian_dp_mu_for(epsilon, delta), mu, 1e-12);
        double mass = gaussian_dp_epsilon(mu, delta);
        cr_expect_float_eq(gaussian_dp_log_delta(mu, mass), log(delta), 1e-12 * (1.0 - log(delta)));
        cr_expect_lt(exp(gaussian_dp_log_delta(0.999 * mu, epsilon)), delta);
        cr_expect_gt(exp(gaussian_dp_log_delta(mu, 0.999 * epsilon)), delta);
    }
    noise_source_free(noise);
}

/* One subsampled step: at rate 1 it is the Gaussian, it grows with the rate, delta and epsilon
 * invert each other, and removing costs more than adding. */
Test(gaussian_dp, one_subsampled_step)
{
    struct noise_source *noise = golden_noise(63);
    for (int k = 0; k < 500; k++) {
        double q = noise_uniform(noise), s = 0.3 + 3.0 * noise_uniform(noise);
        double delta = q * pow(10.0, -8.0 * noise_uniform(noise));
        double removed = subsampled_gaussian_once_epsilon(q, s, false, delta);
        double added = subsampled_gaussian_once_epsilon(q, s, true, delta);
        cr_expect_leq(added, removed + 1e-12);
        cr_expect_leq(removed, gaussian_dp_epsilon(1.0 / s, delta) * (1.0 + 1e-12));
        for (int add = 0; add < 2; add++) {
            double epsilon = add ? added : removed;
            double back = subsampled_gaussian_once_delta(q, s, add, epsilon);
            if (epsilon > 0.0)
                cr_expect_float_eq(back / delta, 1.0, 1e-9, "%g", back);
            else
                cr_expect_leq(back, delta);
        }
    }
    cr_expect_float_eq(subsampled_gaussian_once_epsilon(1.0, 1.0, true, 1e-5), 4.3771780956812245,
                       1e-12);
    noise_source_free(noise);
}
