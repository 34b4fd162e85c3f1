/* Cholesky's factor of a small matrix, by rows. */
#include "algos/nn/cholesky.h"

#include <math.h>

void cholesky_factor(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            /* A ridge keeps the diagonal above this bound, apart from rounding. */
            a[i * n + j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / a[j * n + j];
        }
    }
}

void cholesky_solve(const double *l, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
}
