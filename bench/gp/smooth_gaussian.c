/* Two normal laws of different deviation: the privacy loss is a quadratic in the coordinate along
 * the shift and linear in the squared length of the others, which has a chi-square law. */
#include "bench/gp/smooth_gaussian.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "algos/privacy/laws/gaussian_dp.h"

#define PANELS 1200 /* even; of Simpson's rule */
#define REACH  12.0 /* deviations on either side */
#define RATIOS 4    /* of the two deviations, beside 1, in each direction */

/* P(chi-square of FREEDOM > t), in closed form (Abramowitz and Stegun 26.4.4 and 26.4.5). */
static double chi_square_tail(uint32_t freedom, double t)
{
    if (t <= 0.0)
        return 1.0;
    double y = t / 2.0, sum = 0.0, term = 1.0;
    bool odd = freedom % 2 == 1;
    if (odd)
        term = 2.0 * sqrt(y / M_PI);
    for (uint32_t j = 0; j < freedom / 2; j++) {
        sum += term;
        term *= y / (j + (odd ? 1.5 : 1.0));
    }
    return (odd ? erfc(sqrt(y)) : 0.0) + exp(-y) * sum;
}

static double normal_density(double x)
{
    return exp(-x * x / 2.0) / sqrt(2.0 * M_PI);
}

/* P{L > epsilon} - exp(epsilon) Q{L > epsilon} for P = N(0, 1) and Q = N(mu, ratio^2) in every
 * coordinate but for the shift in one, ratio not 1. */
static double pair_delta(double mu, double ratio, uint32_t dimension, double epsilon)
{
    double low = -REACH * fmax(1.0, ratio), high = mu + REACH * fmax(1.0, ratio);
    double width = (high - low) / PANELS, sum = 0.0;
    double slope = (1.0 / (ratio * ratio) - 1.0) / 2.0; /* of L in the squared length */
    for (int i = 0; i <= PANELS; i++) {
        double x = low + width * i, z = (x - mu) / ratio;
        double along = dimension * log(ratio) + z * z / 2.0 - x * x / 2.0;
        double length = (epsilon - along) / slope; /* L > epsilon beyond it, or within it */
        double p = chi_square_tail(dimension - 1, length);
        double q = chi_square_tail(dimension - 1, length / (ratio * ratio));
        double weight = i % 2 ? 4.0 : 2.0;
        if (slope < 0.0) {
            p = 1.0 - p;
            q = 1.0 - q;
        }
        if (i == 0 || i == PANELS)
            weight = 1.0;
        sum += weight * (p * normal_density(x) - exp(epsilon) * q * normal_density(z) / ratio);
    }
    return fmax(0.0, sum * width / 3.0);
}

double smooth_gaussian_delta(const struct smooth_gaussian *g, double epsilon)
{
    assert(g->mu > 0.0 && g->smoothness >= 0.0 && g->smoothness <= 1.0 && g->dimension >= 2 &&
           g->dimension <= SMOOTH_GAUSSIAN_MAX_DIMENSION);
    double most = exp(gaussian_dp_log_delta(g->mu, epsilon));
    for (int i = 1; i <= RATIOS && g->smoothness > 0.0; i++) {
        double ratio = exp(g->smoothness * i / RATIOS);
        /* The smaller deviation is the unit of the distance: P's, then Q's. */
        most = fmax(most, pair_delta(g->mu, ratio, g->dimension, epsilon));
        most = fmax(most, pair_delta(g->mu / ratio, 1.0 / ratio, g->dimension, epsilon));
    }
    return most;
}

double smooth_gaussian_epsilon(const struct smooth_gaussian *g, double delta)
{
    double low = 0.0, high = 1.0;
    if (smooth_gaussian_delta(g, 0.0) <= delta)
        return 0.0;
    while (smooth_gaussian_delta(g, high) > delta)
        high *= 2.0;
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2.0;
        if (smooth_gaussian_delta(g, middle) > delta)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double smooth_gaussian_mu_for(double smoothness, uint32_t dimension, double epsilon, double delta)
{
    double low = 0.0, high = gaussian_dp_mu_for(epsilon, delta);
    for (int i = 0; i < 30; i++) {
        const struct smooth_gaussian g = {
            .mu = (low + high) / 2.0, .smoothness = smoothness, .dimension = dimension};
        if (smooth_gaussian_delta(&g, epsilon) > delta)
            high = g.mu;
        else
            low = g.mu;
    }
    return low;
}

struct smooth_gaussian smooth_gaussian_published(double epsilon, double delta, uint32_t dimension)
{
    double tail = log(2.0 / delta);
    return (struct smooth_gaussian){.mu = epsilon / (5.0 * sqrt(2.0 * tail)),
                                    .smoothness = epsilon / (4.0 * (dimension + tail)) / 2.0,
                                    .dimension = dimension};
}
