/* Products by the 16-lane instructions of AVX-512, for matrix.c: on the shapes of a training step a
 * tenth faster than OpenBLAS, because only one factor is packed, and what follows a product is done
 * before it is written. Elsewhere matrix.c asks BLAS. */
#ifndef TACET_ALGOS_NN_MATRIX_WIDE_H
#define TACET_ALGOS_NN_MATRIX_WIDE_H

#include "algos/nn/matrix.h"

/* Fewer rows do not pay for packing, fewer columns do not fill a panel. */
#define MATRIX_WIDE_ROWS    16
#define MATRIX_WIDE_COLUMNS 32

/* How a factor lies in memory: from one of the summed numbers to the next, and from one of its rows
 * (of the left factor) or columns (of the right) to the next. One of the two is 1 on the right. */
struct matrix_factor {
    const float *numbers;
    size_t along, across;
};

/* C[rows x columns] = left right, then FINISH, or C += left right with FINISH NULL. Each result is
 * summed with one rounding a term in the order of the terms, in blocks of 256, whatever is beside
 * it: it has the same bits in any company. Only where processor_has_avx512. */
void matrix_wide_product(size_t rows, size_t inner, size_t columns, struct matrix_factor left,
                         struct matrix_factor right, const struct matrix_finish *finish, float *c);

#endif
