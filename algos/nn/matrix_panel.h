/* The first two products of matrix.h for wide matrices: call those, which choose the loops for
 * narrow ones. The order of operations is fixed, as there. */
#ifndef TACET_ALGOS_NN_MATRIX_PANEL_H
#define TACET_ALGOS_NN_MATRIX_PANEL_H

#include <stddef.h>

/* C[rows x columns] = A[rows x inner] B[columns x inner]^T. */
void matrix_panel_times_transposed(size_t rows, size_t inner, size_t columns, const float *a,
                                   const float *b, float *c);

/* C[rows x columns] = A[rows x inner] B[inner x columns]. */
void matrix_panel_times(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                        float *c);

#endif
