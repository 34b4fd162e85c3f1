/* The three matrix products that a perceptron needs, row major float32. The first two are by hand
 * in one fixed order of operations: a row of C has the same bits in every call, alone or among many
 * rows. Results rest on it: the sensitivity of training in exact arithmetic (per_example_lattice.h)
 * holds only when one expert's gradient does not depend on who else is in the batch, and an
 * evaluation only repeats when an episode does not depend on those beside it. The third is
 * OpenBLAS's; matrix.c is the only file that knows it. Nothing here allocates or fails; A, B and C
 * must not overlap. Every size must be below 2^31. */
#ifndef TACET_ALGOS_NN_MATRIX_H
#define TACET_ALGOS_NN_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

/* Operations on the results of a product before they are written, in this order. */
struct matrix_finish {
    const float *bias;  /* [columns], added to every row; NULL: none */
    bool rectify;       /* replaces negative numbers by 0; a NaN stays, so that a row that is not
                         * finite shows */
    const float *where; /* [rows x columns]; results become 0 wherever this is not positive;
                         * NULL: nowhere */
};

/* Applies FINISH (NULL: nothing) to C[rows x columns]. */
void matrix_finish(size_t rows, size_t columns, float *c, const struct matrix_finish *finish);

/* C[rows x columns] = A[rows x inner] B[columns x inner]^T: forward, with B a layer's weight; then
 * FINISH (NULL: nothing). */
void matrix_times_transposed(size_t rows, size_t inner, size_t columns, const float *a,
                             const float *b, float *c, const struct matrix_finish *finish);

/* C[rows x columns] = A[rows x inner] B[inner x columns]: error back to a layer's inputs; then
 * FINISH (NULL: nothing). */
void matrix_times(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                  float *c, const struct matrix_finish *finish);

/* C[rows x columns] = A[inner x rows]^T B[inner x columns], or += with ADD: the gradient of a
 * weight, summed over INNER examples. */
void matrix_transposed_times(size_t rows, size_t inner, size_t columns, const float *a,
                             const float *b, float *c, bool add);

/* The same for rows FIRST .. FIRST + COUNT of C alone, which begins with them. Their bits may
 * differ from those of the whole product, unless all numbers are whole. */
void matrix_transposed_times_some(size_t rows, size_t first, size_t count, size_t inner,
                                  size_t columns, const float *a, const float *b, float *c,
                                  bool add);

/* y[rows] = A[rows x columns] x[columns]. By hand, one fixed order of operations: the same bits
 * every time, whatever the BLAS. */
void matrix_times_vector(size_t rows, size_t columns, const float *a, const float *x, float *y);

#endif
