/* A coordinate is off by half a step from its own error and by half a step from rounding, in either
 * world: neighbours move apart by 2 sqrt(count) steps at most. */
#include "algos/privacy/functions/gaussian_lattice.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/noise/noise_lattice.h"

#define UP (1.0 + 1e-14) /* pays for a few roundings */

bool gaussian_lattice_fits(double sensitivity, double sigma, size_t count)
{
    return sqrt((double)count) * sigma <= 0x1p30 * sensitivity;
}

struct gaussian_lattice gaussian_lattice_of(double sensitivity, double sigma, size_t count,
                                            double most)
{
    assert(gaussian_lattice_fits(sensitivity, sigma, count) && sigma > 0.0 && most >= 0.0);
    int fine, least;
    (void)frexp(sigma * 0x1p-30, &fine);
    (void)frexp(most * 0x1p-58, &least);
    double step = fmax(ldexp(1.0, fine - 1), most > 0.0 ? ldexp(1.0, least) : 0.0);
    double apart = 2.0 * sqrt((double)count) * step;
    double units = sigma / step * ((sensitivity + apart) / sensitivity) * UP;
    return (struct gaussian_lattice){step, (uint64_t)ceil(ldexp(units, NOISE_LATTICE_FRACTION))};
}

long double gaussian_lattice_draw(const struct gaussian_lattice *lattice,
                                  struct noise_source *noise, long double value)
{
    int64_t units = llrintl(value / lattice->step); /* the quotient is exact */
    return (long double)(units + noise_lattice_gaussian(noise, lattice->scale)) * lattice->step;
}
