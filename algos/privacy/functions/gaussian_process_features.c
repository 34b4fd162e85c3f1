/* Weights in a ball, and their noisy mean. */
#include "algos/privacy/functions/gaussian_process_features.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_grid.h"
#include "algos/privacy/functions/gaussian_lattice.h"

#define HALF_ULP 0x1p-53

/* The norm rounded up, by at most twice its error; entries are scaled so that no square overflows,
 * or underflows with any weight in the sum. */
static double norm_above(const double *w, size_t count, double *largest)
{
    double sum = 0, most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(w[i]));
    *largest = most;
    if (most == 0.0)
        return 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (w[i] / most) * (w[i] / most);
    return sqrt(sum) * (1.0 + HALF_ULP * ((double)count + 16.0));
}

void gaussian_features_project(double *w, size_t count, double radius)
{
    assert((w || !count) && radius > 0.0);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(w[i])) {
            memset(w, 0, count * sizeof *w);
            return;
        }
    }
    double largest, relative = norm_above(w, count, &largest);
    if (relative == 0.0 || largest <= radius / relative * (1.0 - 0x1p-50))
        return;
    /* |w| / largest has norm at most RELATIVE; three roundings per entry are paid by 2^-50 */
    double scale = radius / relative * (1.0 - 0x1p-50);
    for (size_t i = 0; i < count; i++)
        w[i] = w[i] / largest * scale;
}

double gaussian_features_sensitivity(double radius, uint32_t shards)
{
    assert(radius > 0.0 && shards >= 1);
    double of_mean = HALF_ULP * ((double)shards + 1.0) * radius;
    return (2.0 * radius / shards + 2.0 * of_mean) * (1.0 + 1e-14);
}

void gaussian_features_release(struct noise_source *noise, const double *mean, size_t count,
                               double radius, double sensitivity, double sigma, double *out)
{
    const struct gaussian_lattice lattice = gaussian_lattice_of(sensitivity, sigma, count, radius);
    for (size_t i = 0; i < count; i++) {
        double held = isnan(mean[i]) ? 0.0 : fmax(-radius, fmin(radius, mean[i]));
        long double drawn = gaussian_lattice_draw(&lattice, noise, held);
        out[i] = gaussian_grid_round(0.0, drawn, sigma, radius);
    }
}
