/* Spectral norms from above, by powers of the Gram matrix.
 *
 * DESIGN. For a symmetric positive semidefinite G of size n, ||G||_2 <= ||G^p||_F^(1/p) <=
 * n^(1/2p) ||G||_2: squaring G j times gives p = 2^j, and the bound is within n^(1/4p) of the norm
 * of W itself. Each squaring costs n^3, so wide layers get fewer: the bound is looser, never wrong.
 * It stops early when the lower bound that the same numbers give, ||G^2||_F / ||G||_F, has met it.
 *
 * Rounding. u = 2^-53, gamma(m) = m u / (1 - m u). A sum of m products in any order is off by at
 * most gamma(m) times the sum of their sizes. So the computed Gram matrix of A (L x n) is off by at
 * most gamma(L) ||A||_F^2 <= n gamma(L) ||G||_2 in 2-norm, and a computed square of a symmetric G
 * by gamma(n) ||G||_F^2 <= n gamma(n) ||G||_2^2: what is lost of ||G||_2 is a factor 1 - n gamma
 * each time, of which the 1st, 1/2, 1/4, ... root is taken. The product of all, and the root of the
 * Frobenius sums' own gamma(n^2), is below the margin added at the end, which is twice what is
 * needed. Scales are powers of two, kept as integers: exact, and nothing overflows. What underflows
 * is below 2^-1000 of the norm. */
#include "algos/nn/lipschitz.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SQUARINGS 8
#define WORK          2e9 /* multiplications that one matrix is worth */
#define HALF_ULP      0x1p-53
#define TILE          8  /* columns are padded with zeros to a multiple of this */
#define PANEL         64 /* rows converted to double at once */
#define CLOSE         1e-6

/* Four doubles, read from and written to any double's address. */
typedef double lanes __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));

/* OUT[4 rows from i][8 columns from j] += the same part of A'A, in registers. */
static void product_tile(const double *a, size_t rows, size_t stride, size_t i, size_t j,
                         double *out)
{
    lanes sum[4][2], *place[4];
    for (size_t r = 0; r < 4; r++) {
        place[r] = (lanes *)(out + (i + r) * stride + j);
        memcpy(sum[r], place[r], sizeof sum[r]);
    }
    for (size_t k = 0; k < rows; k++) {
        const double *line = a + k * stride;
        const lanes *both = (const lanes *)(line + j), left = both[0], right = both[1];
        for (size_t r = 0; r < 4; r++) {
            double factor = line[i + r];
            sum[r][0] += factor * left;
            sum[r][1] += factor * right;
        }
    }
    for (size_t r = 0; r < 4; r++)
        memcpy(place[r], sum[r], sizeof sum[r]);
}

/* The upper triangle of OUT[stride x stride] += A'A for A[rows x stride]; tiles on the diagonal are
 * filled whole. */
static void product_add(const double *a, size_t rows, size_t stride, double *out)
{
    for (size_t j = 0; j < stride; j += TILE)
        for (size_t i = 0; i < j + TILE; i += 4)
            product_tile(a, rows, stride, i, j, out);
}

static void mirror_upper(double *g, size_t stride)
{
    for (size_t i = 0; i < stride; i++)
        for (size_t j = 0; j < i; j++)
            g[i * stride + j] = g[j * stride + i];
}

/* G = A'A, where A is W or its transpose, whichever has fewer columns, padded to STRIDE; G is all
 * zero before. PANELS: room for PANEL lines. Products of two floats are exact here. */
static void gram_matrix(const float *w, size_t rows, size_t columns, size_t stride, double *panel,
                        double *g)
{
    bool wide = rows < columns;
    size_t n = wide ? rows : columns, length = wide ? columns : rows;
    memset(panel, 0, PANEL * stride * sizeof *panel);
    for (size_t first = 0; first < length; first += PANEL) {
        size_t count = length - first < PANEL ? length - first : PANEL;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < count; k++)
                panel[k * stride + i] =
                    wide ? w[i * columns + first + k] : w[(first + k) * columns + i];
        product_add(panel, count, stride, g);
    }
    mirror_upper(g, stride);
}

/* OUT = G^2 for symmetric G. */
static void square_matrix(const double *g, double *out, size_t stride)
{
    memset(out, 0, stride * stride * sizeof *out);
    for (size_t first = 0; first < stride; first += PANEL) {
        size_t count = stride - first < PANEL ? stride - first : PANEL;
        product_add(g + first * stride, count, stride, out);
    }
    mirror_upper(out, stride);
}

static double frobenius_norm(const double *g, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += g[i] * g[i];
    return sqrt(sum);
}

/* The 2^TIMES-th root of value * 2^exponent, within two units of the last place. */
static double repeated_root(double value, int64_t exponent, int times)
{
    for (int t = 0; t < times; t++) {
        if (exponent % 2) {
            value *= 2.0;
            exponent -= 1;
        }
        value = sqrt(value);
        exponent /= 2;
    }
    assert(exponent > -4000 && exponent < 4000);
    return ldexp(value, (int)exponent);
}

/* The bound of sqrt(||G||_2) but for the margin; G, not zero, and SPARE are overwritten. */
static double root_of_norm(double *g, double *spare, size_t stride)
{
    size_t count = stride * stride;
    double cube = (double)stride * (double)stride * (double)stride;
    double norm = frobenius_norm(g, count);
    int shift = 0;
    int64_t exponent = 0; /* the power of G is 2^exponent times what is stored */
    double best = repeated_root(norm, 0, 1);
    for (int j = 0; j < MAX_SQUARINGS && (j + 1) * cube / 2.0 <= WORK; j++) {
        norm = frexp(norm, &shift);
        exponent = 2 * (exponent + shift);
        double unit = ldexp(1.0, -shift);
        for (size_t i = 0; i < count; i++)
            g[i] *= unit;
        square_matrix(g, spare, stride);
        double *other = g;
        g = spare;
        spare = other;
        double next = frobenius_norm(g, count);
        double upper = repeated_root(next, exponent, j + 2);
        double lower = repeated_root(next / norm, exponent / 2, j + 1);
        best = fmin(best, upper);
        norm = next;
        if (upper <= lower * (1.0 + CLOSE))
            break;
    }
    return best;
}

/* The bounds that need no product: Frobenius, and the root of the greatest row sum times the
 * greatest column sum. COLUMN[columns] is scratch. INFINITY when an entry is not finite. */
static double plain_bound(const float *w, size_t rows, size_t columns, double *column)
{
    double square_sum = 0, row_most = 0, column_most = 0;
    memset(column, 0, columns * sizeof *column);
    for (size_t i = 0; i < rows; i++) {
        double row = 0;
        for (size_t j = 0; j < columns; j++) {
            double size = fabs((double)w[i * columns + j]);
            if (!isfinite(size))
                return INFINITY;
            square_sum += size * size;
            row += size;
            column[j] += size;
        }
        row_most = fmax(row_most, row);
    }
    for (size_t j = 0; j < columns; j++)
        column_most = fmax(column_most, column[j]);
    double margin = 1.0 + 2.0 * HALF_ULP * ((double)rows * (double)columns + 8.0);
    return margin * fmin(sqrt(square_sum), sqrt(row_most) * sqrt(column_most));
}

double lipschitz_spectral_norm_bound(const float *weight, size_t rows, size_t columns)
{
    assert(weight && rows > 0 && columns > 0);
    size_t n = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
    if (length > SIZE_MAX / sizeof(double) / 2 - TILE)
        return -1.0;
    size_t stride = (n + TILE - 1) / TILE * TILE;
    double margin =
        4.0 * HALF_ULP * (double)stride * ((double)length + (double)stride + 8.0) + 64.0 * HALF_ULP;
    if (stride > SIZE_MAX / sizeof(double) / stride || !(margin < 1e-3))
        return -1.0;
    double *column = malloc(columns * sizeof *column);
    double *panel = malloc(PANEL * stride * sizeof *panel);
    double *g = calloc(stride * stride, sizeof *g), *spare = malloc(stride * stride * sizeof *g);
    double bound = -1.0;
    if (!column || !panel || !g || !spare)
        goto cleanup;
    bound = plain_bound(weight, rows, columns, column);
    if (bound == 0.0 || isinf(bound))
        goto cleanup;
    gram_matrix(weight, rows, columns, stride, panel, g);
    bound = fmin(bound, root_of_norm(g, spare, stride) * (1.0 + margin));
cleanup:
    free(column);
    free(panel);
    free(g);
    free(spare);
    return bound;
}

double lipschitz_mlp_bound(const struct mlp_shape *shape, const float *parameters)
{
    assert(mlp_shape_valid(shape));
    double product = 1.0;
    bool constant = false;
    for (uint32_t layer = 0; layer < shape->layer_count; layer++) {
        double norm =
            lipschitz_spectral_norm_bound(parameters + mlp_weight_offset(shape, layer),
                                          shape->width[layer], mlp_layer_input(shape, layer));
        if (norm < 0.0 || isinf(norm))
            return norm;
        constant = constant || norm == 0.0;
        /* a product may underflow, a bound may not */
        product = fmax(product * (norm * (1.0 + 4.0 * HALF_ULP)), DBL_MIN);
    }
    return constant ? 0.0 : product;
}
