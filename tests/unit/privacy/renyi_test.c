/* Renyi curves and conversions. */
#include "algos/privacy/laws/renyi.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/math/special.h"
#include "tests/unit/privacy/golden.h"

Test(renyi, subsampled_gaussian_oracles)
{
    json_t *root = golden_load("renyi.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "rdp_poisson_subsampled_gaussian"), i, one)
    {
        double want = golden_number(one, "rdp");
        double got = renyi_subsampled_gaussian(golden_number(one, "q"),
                                               golden_number(one, "noise_multiplier"),
                                               golden_number(one, "order"));
        cr_expect(got >= want * (1.0 - 1e-12) && got <= want * (1.0 + 1e-8), "%.15g for %.15g", got,
                  want);
    }
    cr_assert_eq(i, 6);
    json_decref(root);
}

/* At integer orders the moment is a finite sum (Mironov, Talwar, Zhang 2019, section 3.3). */
static double integer_order(double q, double s, int order)
{
    double sum = 0;
    for (int k = 0; k <= order; k++) {
        double choose = lgamma(order + 1.0) - lgamma(k + 1.0) - lgamma(order - k + 1.0);
        sum += exp(choose + (order - k) * log1p(-q) + k * log(q) +
                   (double)k * (k - 1.0) / (2.0 * s * s));
    }
    return log(sum) / (order - 1.0);
}

Test(renyi, integer_orders_are_finite_sums)
{
    struct noise_source *noise = golden_noise(50);
    for (int i = 0; i < 200; i++) {
        double q = exp(-3.0 * noise_uniform(noise)) * 0.9;
        double s = 0.5 + 3.0 * noise_uniform(noise);
        int order = 2 + (int)noise_below(noise, 12);
        double want = integer_order(q, s, order);
        double got = renyi_subsampled_gaussian(q, s, order);
        cr_expect(got >= want * (1.0 - 1e-10) && got <= want * (1.0 + 1e-8) + 1e-14,
                  "q %g s %g order %d: %.15g for %.15g", q, s, order, got, want);
    }
    noise_source_free(noise);
}

/* Little noise: the mass that decides lies far out, around order / noise. */
Test(renyi, little_noise)
{
    for (double s = 0.06; s < 0.3; s += 0.01)
        for (double q = 1e-6; q < 1.0; q *= 7.0) {
            double want = 1.0 / (s * s) + log(q * q + (1.0 - q * q) * exp(-1.0 / (s * s)));
            double got = renyi_subsampled_gaussian(q, s, 2.0);
            cr_expect(got >= want * (1.0 - 1e-10) && got <= want * (1.0 + 1e-8) + 1e-14,
                      "q %g s %g: %.15g for %.15g", q, s, got, want);
        }
}

Test(renyi, curve_grows_with_the_order)
{
    double last = 0;
    for (double order = 1.01; order < 300.0; order *= 1.1) {
        double now = renyi_subsampled_gaussian(0.02, 1.3, order);
        cr_assert_geq(now, last, "order %g", order);
        last = now;
    }
    cr_assert(isinf(renyi_subsampled_gaussian(0.5, 0.05, 1e7)));
}

Test(renyi, budget_inverts_the_conversion)
{
    struct noise_source *noise = golden_noise(51);
    for (int i = 0; i < 1000; i++) {
        double order = 1.0 + exp(8.0 * noise_uniform(noise) - 4.0);
        double delta = pow(10.0, -12.0 * noise_uniform(noise) - 1e-3);
        double epsilon = 20.0 * noise_uniform(noise);
        double rho = renyi_budget(order, epsilon, delta);
        if (rho < 0.0) {
            cr_assert_gt(renyi_to_epsilon(order, 0.0, delta), epsilon * (1.0 - 1e-12));
            continue;
        }
        cr_assert_float_eq(renyi_to_epsilon(order, rho, delta), epsilon, 1e-9 * (1.0 + rho));
    }
    cr_assert_eq(renyi_to_epsilon(2.0, 0.0, 0.9), 0.0);
    noise_source_free(noise);
}

Test(renyi, special_functions)
{
    double pi2 = M_PI * M_PI;
    cr_assert_float_eq(special_trigamma(1.0), pi2 / 6.0, 1e-14);
    cr_assert_float_eq(special_trigamma(0.5), pi2 / 2.0, 5e-14);
    cr_assert_float_eq(special_trigamma(0.25), pi2 + 8.0 * 0.915965594177219015, 2e-13);
    for (double x = 1e-3; x < 1e6; x *= 3.0) {
        double want = special_trigamma(x + 1.0) + 1.0 / (x * x);
        cr_assert_float_eq(special_trigamma(x) / want, 1.0, 1e-14, "x %g", x);
    }
    cr_assert_float_eq(special_log_gamma(0.5), 0.5 * log(M_PI), 1e-15);
}
