/* Laws on the real line by single draws, and public grids. */
#include "algos/privacy/noise/noise_continuous.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/noise/noise_source.h"

#define STEPS_OF_NOISE 4096.0 /* of a grid in one scale of the noise on it */

double noise_normal(struct noise_source *source)
{
    double radius = sqrt(-2.0 * log(noise_uniform_fine(source)));
    return radius * cos(2.0 * M_PI * noise_uniform(source));
}

static bool is_power_of_two(double x)
{
    int exponent;
    return isnormal(x) && frexp(x, &exponent) == 0.5;
}

double noise_round_to_grid(double value, double step)
{
    assert(isfinite(value) && is_power_of_two(step));
    if (fabs(value) >= 0x1p53 * step) /* on the grid already; the quotient might overflow */
        return value;
    /* Both exact; adding zero takes the sign from -0, which would tell more than the grid. */
    return nearbyint(value / step) * step + 0.0;
}

double noise_grid_step(double scale)
{
    assert(isnormal(scale) && scale > STEPS_OF_NOISE * DBL_MIN);
    int exponent;
    frexp(scale / STEPS_OF_NOISE, &exponent); /* in [1/2, 1) times 2^exponent */
    return ldexp(1.0, exponent - 1);
}
