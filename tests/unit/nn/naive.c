/* Matrix products by the definition, summed in double. */
#include "tests/unit/nn/naive.h"

void matrix_times_transposed_naive(size_t rows, size_t inner, size_t columns, const float *a,
                                   const float *b, float *c)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < inner; k++)
                sum += (double)a[i * inner + k] * b[j * inner + k];
            c[i * columns + j] = (float)sum;
        }
    }
}

void matrix_times_naive(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                        float *c)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < inner; k++)
                sum += (double)a[i * inner + k] * b[k * columns + j];
            c[i * columns + j] = (float)sum;
        }
    }
}

void matrix_transposed_times_add_naive(size_t rows, size_t inner, size_t columns, const float *a,
                                       const float *b, float *c)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            double sum = c[i * columns + j];
            for (size_t k = 0; k < inner; k++)
                sum += (double)a[k * rows + i] * b[k * columns + j];
            c[i * columns + j] = (float)sum;
        }
    }
}
