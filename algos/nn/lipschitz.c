/* Spectral norms from above, by powers of the Gram matrix.
 *
 * DESIGN. For a symmetric positive semidefinite G of size n, ||G||_2 <= ||G^p||_F^(1/p) <=
 * n^(1/2p) ||G||_2: squaring G j times gives p = 2^j, and the bound is within n^(1/4p) of the norm
 * of W itself. Each squaring costs n^3, so wide layers get fewer: the bound is looser, never wrong.
 * G is rescaled before each squaring, its scale kept as a logarithm, so nothing overflows. */
#include "algos/nn/lipschitz.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define MAX_SQUARINGS 8
#define WORK          2e9 /* multiplications that one matrix is worth */
#define HALF_ULP      0x1p-53

/* G = A' A, where A is W or its transpose, whichever has fewer columns: n. False when memory is
 * short. */
static bool gram(const float *w, size_t rows, size_t columns, double *g)
{
    bool wide = rows < columns;
    size_t n = wide ? rows : columns, length = wide ? columns : rows;
    double *line = malloc(n * sizeof *line);
    if (!line)
        return false;
    for (size_t i = 0; i < n * n; i++)
        g[i] = 0.0;
    for (size_t k = 0; k < length; k++) {
        for (size_t i = 0; i < n; i++)
            line[i] = wide ? w[i * columns + k] : w[k * columns + i];
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++)
                g[i * n + j] += line[i] * line[j]; /* NOLINT: all n * n were set to 0 above */
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            g[i * n + j] = g[j * n + i];
    free(line);
    return true;
}

static double frobenius(const double *g, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n * n; i++)
        sum += g[i] * g[i];
    return sqrt(sum);
}

/* OUT = G^2 for symmetric G, row by row so that the inner loop runs along memory. */
static void square(const double *restrict g, double *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = out + i * n;
        for (size_t j = i; j < n; j++)
            row[j] = 0.0;
        for (size_t k = 0; k < n; k++) {
            double factor = g[i * n + k];
            const double *other = g + k * n;
            for (size_t j = i; j < n; j++)
                row[j] += factor * other[j];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            out[i * n + j] = out[j * n + i];
}

/* ln of the bound of ||G||_2, G of Frobenius norm FIRST > 0; G and SPARE are overwritten. */
static double log_norm_bound(double *g, double *spare, size_t n, double first)
{
    double log_scale = log(first); /* G is exp(log_scale) times what is stored */
    double power = 1.0, cube = (double)n * (double)n * (double)n;
    for (size_t i = 0; i < n * n; i++)
        g[i] /= first;
    double best = log_scale;
    for (int j = 0; j < MAX_SQUARINGS && (j + 1) * cube / 2.0 <= WORK; j++) {
        square(g, spare, n);
        double norm = frobenius(spare, n);
        for (size_t i = 0; i < n * n; i++)
            g[i] = spare[i] / norm;
        power *= 2.0;
        log_scale = 2.0 * log_scale + log(norm);
        best = fmin(best, log_scale / power);
    }
    return best;
}

double lipschitz_spectral_norm_bound(const float *weight, size_t rows, size_t columns)
{
    assert(weight && rows > 0 && columns > 0);
    if (rows > SIZE_MAX / columns)
        return -1.0;
    double square_sum = 0;
    for (size_t i = 0; i < rows * columns; i++) {
        if (!isfinite(weight[i]))
            return INFINITY;
        square_sum += (double)weight[i] * (double)weight[i];
    }
    if (square_sum == 0.0)
        return 0.0;
    size_t n = rows < columns ? rows : columns;
    if (n > SIZE_MAX / n / sizeof(double))
        return -1.0;
    double *g = malloc(n * n * sizeof *g), *spare = malloc(n * n * sizeof *spare);
    double bound = -1.0;
    if (!g || !spare || !gram(weight, rows, columns, g))
        goto cleanup;
    double first = frobenius(g, n), size = (double)n;
    /* Rounding in sums of n products, relative to a Frobenius norm that may be n times the spectral
     * one; the Gram matrix adds its own sums. */
    double rounding = 1e-10 + 8.0 * HALF_ULP * size * (size + (double)(rows + columns));
    bound = exp(0.5 * log_norm_bound(g, spare, n, first)) * (1.0 + rounding);
    bound = fmin(bound, sqrt(square_sum) * (1.0 + 1e-10 + HALF_ULP * (double)(rows * columns)));
cleanup:
    free(g);
    free(spare);
    return bound;
}

double lipschitz_mlp_bound(const struct mlp_shape *shape, const float *parameters)
{
    assert(mlp_shape_valid(shape));
    double product = 1.0;
    for (uint32_t layer = 0; layer < shape->layer_count; layer++) {
        double norm =
            lipschitz_spectral_norm_bound(parameters + mlp_weight_offset(shape, layer),
                                          shape->width[layer], mlp_layer_input(shape, layer));
        if (norm < 0.0 || isinf(norm))
            return norm;
        product *= norm * (1.0 + 4.0 * HALF_ULP);
    }
    return product;
}
