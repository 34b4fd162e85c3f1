/* Systems of linear equations with a small positive definite matrix. */
#ifndef TACET_ALGOS_NN_CHOLESKY_H
#define TACET_ALGOS_NN_CHOLESKY_H

#include <stddef.h>

/* Replaces the lower triangle of A[n x n], positive definite, by its Cholesky factor L. The upper
 * triangle is neither read nor written. */
void cholesky_factor(double *a, size_t n);

/* Replaces X[n] by the solution y of L L' y = X. */
void cholesky_solve(const double *l, size_t n, double *x);

#endif
