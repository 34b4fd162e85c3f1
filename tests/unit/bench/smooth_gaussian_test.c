/* Noise whose deviation depends on the data: its delta by closed forms and by brute force. */
#include "bench/gp/smooth_gaussian.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/laws/gaussian_dp.h"

Test(smooth_gaussian, one_deviation_is_gaussian_dp)
{
    for (double mu = 0.05; mu < 2.0; mu *= 2.0) {
        const struct smooth_gaussian g = {.mu = mu, .dimension = 4};
        cr_expect_float_eq(smooth_gaussian_delta(&g, 0.7) / exp(gaussian_dp_log_delta(mu, 0.7)),
                           1.0, 1e-9);
    }
}

/* Of two laws about one point in four dimensions the loss depends on the squared length alone, and
 * P(chi-square of 4 > t) = (1 + t / 2) exp(-t / 2). */
static double four_tail(double t)
{
    return t <= 0.0 ? 1.0 : (1.0 + t / 2.0) * exp(-t / 2.0);
}

Test(smooth_gaussian, without_a_shift_it_is_the_law_of_the_length)
{
    const double ratio = exp(0.2), epsilon = 0.3;
    const struct smooth_gaussian g = {.mu = 1e-7, .smoothness = 0.2, .dimension = 4};
    /* The narrow law first: L falls with the length. */
    double slope = (1.0 - 1.0 / (ratio * ratio)) / 2.0, t = (4.0 * log(ratio) - epsilon) / slope;
    double narrow = (1.0 - four_tail(t)) - exp(epsilon) * (1.0 - four_tail(t / (ratio * ratio)));
    /* The wide law first, its deviation as the unit: L grows with it. */
    slope = (ratio * ratio - 1.0) / 2.0;
    t = (4.0 * log(ratio) + epsilon) / slope;
    double wide = four_tail(t) - exp(epsilon) * four_tail(t * ratio * ratio);
    cr_assert_gt(fmax(narrow, wide), 1e-3);
    cr_expect_float_eq(smooth_gaussian_delta(&g, epsilon), fmax(narrow, wide), 1e-6);
}

/* The integral of max(0, p - exp(epsilon) q) in the plane. */
static double plane_delta(double mu, double ratio, double epsilon)
{
    const double step = 0.02;
    double sum = 0.0;
    for (double x = -9.0; x < 9.0; x += step)
        for (double y = -9.0; y < 9.0; y += step) {
            double p = exp(-(x * x + y * y) / 2.0);
            double z = (x - mu) / ratio, w = y / ratio;
            double q = exp(-(z * z + w * w) / 2.0) / (ratio * ratio);
            sum += fmax(0.0, p - exp(epsilon) * q);
        }
    return sum * step * step / (2.0 * M_PI);
}

Test(smooth_gaussian, in_the_plane_it_is_what_the_plain_integral_gives)
{
    const struct smooth_gaussian g = {.mu = 0.4, .smoothness = 0.1, .dimension = 2};
    double most = 0.0, ratio = exp(g.smoothness);
    most = fmax(plane_delta(g.mu, ratio, 0.6), plane_delta(g.mu / ratio, 1.0 / ratio, 0.6));
    cr_expect_float_eq(smooth_gaussian_delta(&g, 0.6) / most, 1.0, 2e-3);
}

Test(smooth_gaussian, no_smaller_difference_of_deviations_is_worse)
{
    struct smooth_gaussian g = {.mu = 0.3, .dimension = 4};
    double before = 0.0;
    for (g.smoothness = 0.0; g.smoothness < 0.0301; g.smoothness += 0.001) {
        double delta = smooth_gaussian_delta(&g, 0.9);
        cr_expect_geq(delta, before * (1.0 - 1e-6), "at %g", g.smoothness);
        before = delta;
    }
}

Test(smooth_gaussian, the_greatest_mu_spends_all_of_delta)
{
    struct smooth_gaussian g = {.smoothness = 0.003, .dimension = 4};
    g.mu = smooth_gaussian_mu_for(g.smoothness, g.dimension, 0.9, 1e-4);
    cr_expect_leq(smooth_gaussian_delta(&g, 0.9), 1e-4);
    cr_expect_float_eq(smooth_gaussian_epsilon(&g, 1e-4), 0.9, 1e-6);
    g.mu *= 1.001;
    cr_expect_gt(smooth_gaussian_delta(&g, 0.9), 1e-4);
    cr_expect_eq(smooth_gaussian_mu_for(0.5, 4, 0.1, 1e-4), 0.0, "the smoothness alone costs more");
}

Test(smooth_gaussian, the_published_constants_claim_more_than_is_true)
{
    struct smooth_gaussian g = smooth_gaussian_published(0.9, 1e-4, 4);
    /* alpha = 5 sqrt(2 ln 20000) / 0.9 and beta = 0.9 / (4 (4 + ln 20000)), by hand. */
    cr_expect_float_eq(1.0 / g.mu, 24.7250, 1e-3);
    cr_expect_float_eq(2.0 * g.smoothness, 0.0161830, 1e-6);
    for (double epsilon = 0.1; epsilon < 4.0; epsilon *= 3.0)
        for (uint32_t dimension = 2; dimension <= 32; dimension *= 4) {
            g = smooth_gaussian_published(epsilon, 1e-4, dimension);
            cr_expect_leq(smooth_gaussian_epsilon(&g, 1e-4), epsilon);
        }
}
