/* Norms of the exponential kernel, which is Markov: its inverse matrix is tridiagonal. */
#include "algos/privacy/functions/gaussian_process_norm.h"

#include <assert.h>
#include <math.h>

double gaussian_process_norm_squared(double beta, const double *x, const double *f, size_t count)
{
    assert(beta > 0.0 && count >= 1);
    double sum = f[0] * f[0];
    for (size_t i = 1; i < count; i++) {
        double gap = beta * (x[i] - x[i - 1]);
        assert(gap > 0.0);
        double step = (f[i] - f[i - 1]) - expm1(-gap) * f[i - 1];
        sum += step * step / -expm1(-2.0 * gap);
    }
    return sum;
}

double gaussian_process_class_norm_squared(double beta, double amplitude, double slope)
{
    assert(beta > 0.0 && amplitude >= 0.0 && slope >= 0.0);
    return amplitude * amplitude * (1.0 + 0.5 * beta) + slope * slope / (2.0 * beta);
}
