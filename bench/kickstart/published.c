/* Gamma variables, divided by their sum; in logarithms, because those of small shapes are smaller
 * than any double. */
#include "bench/kickstart/published.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/noise/noise.h"

/* ln of a Gamma variable of SHAPE: Marsaglia and Tsang 2000, "A simple method for generating gamma
 * variables"; G(a) = G(a + 1) U^(1/a) below 1. */
static double draw_log_gamma(struct noise_source *noise, double shape)
{
    if (shape < 1.0)
        return draw_log_gamma(noise, shape + 1.0) + log(noise_uniform_fine(noise)) / shape;
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = noise_normal(noise), root = 1.0 + c * x;
        if (root <= 0.0)
            continue;
        double v = root * root * root;
        if (log(noise_uniform(noise)) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d) + log(v);
    }
}

void published_draw(uint32_t actions, double concentration, const double *p,
                    struct noise_source *noise, double *z)
{
    double most = -INFINITY, sum = 0.0;
    assert(concentration >= 1e-3);
    for (uint32_t i = 0; i < actions; i++) {
        assert(p[i] > 0.0);
        z[i] = draw_log_gamma(noise, concentration * p[i]);
        most = fmax(most, z[i]);
    }
    for (uint32_t i = 0; i < actions; i++)
        sum += z[i] = exp(z[i] - most);
    for (uint32_t i = 0; i < actions; i++)
        z[i] /= sum;
}
