/* Products in one fixed order of operations, without BLAS: the same bits in every call, alone or
 * among many rows. Results rest on it: the sensitivity of training in exact arithmetic
 * (per_example_lattice.h) holds only when one expert's gradient does not depend on who else is in
 * the batch, and an evaluation only repeats when an episode does not depend on those beside it.
 *
 * DESIGN. The order is that of dot_row(): eight sums side by side, number k of the row in sum k %
 * 8, a ninth for what is left of a row after its eights; then the sums by twos, the ninth last. One
 * vector holds the eight sums of a single row. For many rows it is the other way round: a vector
 * holds the same sum of LANES results, so that nothing is summed across a vector, and a tile of
 * results is computed at a time, one of the nine sums after the other. */
#include <assert.h>
#include <string.h>

#include "algos/nn/matrix.h"

enum {
    LANES = 8,
    TILE_ROWS = 4,
    TILE_VECTORS = 2, /* a tile has TILE_ROWS x TILE_VECTORS x LANES results */
    TILE_COLUMNS = TILE_VECTORS * LANES,
    TILE_INNER = 512, /* of a row; packed it fits the first cache */
    FEW_ROWS = 12,    /* fewer do not pay for packing */
};

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

/* How a factor lies in memory: number k of its row j. */
struct factor {
    const float *numbers;
    size_t along, across; /* from one k to the next, from one j to the next */
};

/* A tile's worth of B's rows, from row FIRST, side by side: number k of row j in [k][j], zeros
 * beyond. */
static void tile_pack(struct factor b, size_t first, size_t width, size_t inner,
                      float packed[][TILE_COLUMNS])
{
    for (size_t k = 0; k < inner; k++) {
        const float *from = b.numbers + k * b.along + first * b.across;
        for (size_t j = 0; j < TILE_COLUMNS; j++)
            packed[k][j] = j < width ? from[j * b.across] : 0.0F;
    }
}

typedef lanes tile[TILE_ROWS][TILE_VECTORS];

/* SUM = row[k] packed[k] + ... for k = FIRST, FIRST + STRIDE, ... below LAST, in that order. */
static inline void tile_sum_fixed(size_t first, size_t stride, size_t last,
                                  const float *const row[TILE_ROWS],
                                  const float packed[][TILE_COLUMNS], tile out_sum)
{
    tile sum = {{{0}}};
    for (size_t k = first; k < last; k += stride) {
        lanes b[TILE_VECTORS];
        for (size_t v = 0; v < TILE_VECTORS; v++)
            b[v] = fixed_load(packed[k] + v * LANES);
        for (size_t i = 0; i < TILE_ROWS; i++)
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[i][v] += b[v] * row[i][k];
    }
    memcpy(out_sum, sum, sizeof sum);
}

/* RESULT = the products of TILE_ROWS rows with what is packed. */
static void tile_product(size_t inner, const float *const row[TILE_ROWS],
                         const float packed[][TILE_COLUMNS], tile result)
{
    tile sum[LANES], rest;
    size_t eights = inner / LANES * LANES;
    for (size_t s = 0; s < LANES; s++)
        tile_sum_fixed(s, LANES, eights, row, packed, sum[s]);
    tile_sum_fixed(eights, 1, inner, row, packed, rest);
    for (size_t i = 0; i < TILE_ROWS; i++) {
        for (size_t v = 0; v < TILE_VECTORS; v++)
            result[i][v] = (((sum[0][i][v] + sum[4][i][v]) + (sum[2][i][v] + sum[6][i][v])) +
                            ((sum[1][i][v] + sum[5][i][v]) + (sum[3][i][v] + sum[7][i][v]))) +
                           rest[i][v];
    }
}

/* C[rows x columns] = A[rows x inner] times COLUMNS rows of B; inner at most TILE_INNER. */
static void tiled_product(size_t rows, size_t inner, size_t columns, const float *a,
                          struct factor b, float *c)
{
    float packed[TILE_INNER][TILE_COLUMNS];
    for (size_t first = 0; first < columns; first += TILE_COLUMNS) {
        size_t width = columns - first < TILE_COLUMNS ? columns - first : TILE_COLUMNS;
        tile_pack(b, first, width, inner, packed);
        for (size_t i = 0; i < rows; i += TILE_ROWS) {
            const float *row[TILE_ROWS];
            for (size_t r = 0; r < TILE_ROWS; r++) /* beyond the end: the last row again */
                row[r] = a + (i + r < rows ? i + r : rows - 1) * inner;
            tile result;
            tile_product(inner, row, packed, result);
            for (size_t r = 0; r < TILE_ROWS && i + r < rows; r++)
                memcpy(c + (i + r) * columns + first, result[r], width * sizeof *c);
        }
    }
}

void matrix_times_transposed_fixed(size_t rows, size_t inner, size_t columns, const float *a,
                                   const float *b, float *c)
{
    assert(inner > 0 && columns > 0);
    if (rows < FEW_ROWS || columns < LANES || inner > TILE_INNER) {
        for (size_t i = 0; i < rows; i++)
            matrix_times_vector(columns, inner, b, a + i * inner, c + i * columns);
        return;
    }
    tiled_product(rows, inner, columns, a, (struct factor){b, 1, inner}, c);
}

/* The dot product of a row with a column, in the order of dot_row(). */
static float dot_column(size_t n, const float *a, const float *b, size_t stride)
{
    float sum[LANES] = {0}, tail = 0.0F;
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t s = 0; s < LANES; s++)
            sum[s] += a[k + s] * b[(k + s) * stride];
    for (; k < n; k++)
        tail += a[k] * b[k * stride];
    lanes all;
    memcpy(&all, sum, sizeof all);
    return fixed_sum(all) + tail;
}

void matrix_times_fixed(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                        float *c)
{
    assert(inner > 0 && columns > 0);
    if (rows < FEW_ROWS || columns < LANES || inner > TILE_INNER) {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                c[i * columns + j] = dot_column(inner, a + i * inner, b + j, columns);
        return;
    }
    tiled_product(rows, inner, columns, a, (struct factor){b, columns, 1}, c);
}
