/* The norm of the exponential kernel, which is Markov: its inverse matrix is tridiagonal. */
#ifndef TACET_TESTS_UNIT_PRIVACY_KERNEL_NORM_H
#define TACET_TESTS_UNIT_PRIVACY_KERNEL_NORM_H

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* The square of the norm that the values F at X[count] (increasing, count >= 1) alone already have:
 * f' K^-1 f = f_0^2 + sum (f_i - rho_i f_(i-1))^2 / (1 - rho_i^2), rho = exp(-beta gap). It is what
 * a reader of these points could exploit; a lower bound of any function through them, and its limit
 * as the points grow dense. */
static inline double gaussian_process_norm_squared(double beta, const double *x, const double *f,
                                                   size_t count)
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

#endif
