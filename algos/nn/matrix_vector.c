/* A matrix times one vector in a fixed order of operations, without BLAS and without packing.
 *
 * DESIGN. The order is that of dot_row(): eight sums side by side, number k of the row in sum k %
 * 8, a ninth for what is left of a row after its eights; then the sums by twos, the ninth last. */
#include <string.h>

#include "algos/nn/matrix.h"

enum { LANES = 8 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

static lanes fixed_load(const float *p)
{
    lanes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static float fixed_sum(lanes v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

static float dot_row(size_t n, const float *a, const float *b)
{
    lanes sum = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        sum += fixed_load(a + k) * fixed_load(b + k);
    float tail = 0.0F;
    for (; k < n; k++)
        tail += a[k] * b[k];
    return fixed_sum(sum) + tail;
}

void matrix_times_vector(size_t rows, size_t columns, const float *a, const float *x, float *y)
{
    size_t i = 0;
    /* Four rows at a time share the loads of x; each row's order is that of dot_row(). */
    for (; i + 4 <= rows; i += 4) {
        const float *r = a + i * columns;
        lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        float t[4] = {0};
        size_t k = 0;
        for (; k + LANES <= columns; k += LANES) {
            lanes v = fixed_load(x + k);
            s0 += fixed_load(r + k) * v;
            s1 += fixed_load(r + columns + k) * v;
            s2 += fixed_load(r + 2 * columns + k) * v;
            s3 += fixed_load(r + 3 * columns + k) * v;
        }
        for (; k < columns; k++)
            for (size_t j = 0; j < 4; j++)
                t[j] += r[j * columns + k] * x[k];
        y[i] = fixed_sum(s0) + t[0];
        y[i + 1] = fixed_sum(s1) + t[1];
        y[i + 2] = fixed_sum(s2) + t[2];
        y[i + 3] = fixed_sum(s3) + t[3];
    }
    for (; i < rows; i++)
        y[i] = dot_row(columns, a + i * columns, x);
}
