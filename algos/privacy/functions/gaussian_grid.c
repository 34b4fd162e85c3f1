/* One rounding of the whole sum. Rounding the mean beforehand would make it rough at the scale of
 * neighbouring points, and roughness is what the process hides worst. */
#include "algos/privacy/functions/gaussian_grid.h"

#include <assert.h>
#include <math.h>

double gaussian_grid_round(double mean, long double noise, double sigma, double value_limit)
{
    assert(sigma > 0.0 && value_limit > 0.0 && value_limit / sigma < 0x1p40);
    double held = isnan(mean) ? 0.0 : fmax(-value_limit, fmin(value_limit, mean));
    long double step = (long double)sigma * GAUSSIAN_GRID_STEP; /* exact: a power of two */
    long long most = (long long)((value_limit + GAUSSIAN_GRID_TAIL * sigma) / step); /* down */
    long long cell = llrintl((held + noise) / step);
    if (cell > most)
        cell = most;
    if (cell < -most)
        cell = -most;
    return (double)((long double)cell * step);
}
