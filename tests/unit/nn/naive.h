/* The products of algos/nn/matrix.h by the definition, for comparison. */
#ifndef TACET_TESTS_UNIT_NN_NAIVE_H
#define TACET_TESTS_UNIT_NN_NAIVE_H

#include <stddef.h>

void matrix_times_transposed_naive(size_t rows, size_t inner, size_t columns, const float *a,
                                   const float *b, float *c);
void matrix_times_naive(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                        float *c);
void matrix_transposed_times_add_naive(size_t rows, size_t inner, size_t columns, const float *a,
                                       const float *b, float *c);

#endif
