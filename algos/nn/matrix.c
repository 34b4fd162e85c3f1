/* Matrix products. Where a dimension is narrow (a world has 2 to 16 numbers and actions) they are
 * done here by hand: packing would cost four fifths of the rate. The loops keep a tile of the
 * result in registers, in vectors of LANES floats. A row at the end is computed in a whole tile
 * too, beside copies of the last, so that every row takes the same operations in the same order.
 */
#include "algos/nn/matrix.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "algos/nn/matrix_panel.h"

enum { NARROW = 16, LANES = 8, TILE = 16, SIDE = 4 };

/* A single-threaded OpenBLAS built without USE_LOCKING (Debian's) looks for a free work buffer
 * without a lock: two threads that multiply at once may be given the same one, and each gets sums
 * of the other's numbers. The linker sends those two calls here (--wrap in the Makefile; without it
 * the link fails), and the lock is held for nanoseconds, not for the product. */
void *real_buffer_take(int position) __asm__("__real_blas_memory_alloc");
void real_buffer_return(void *buffer) __asm__("__real_blas_memory_free");
void *locked_buffer_take(int position) __asm__("__wrap_blas_memory_alloc");
void locked_buffer_return(void *buffer) __asm__("__wrap_blas_memory_free");

static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((used)) void *locked_buffer_take(int position)
{
    pthread_mutex_lock(&buffers_lock);
    void *buffer = real_buffer_take(position);
    pthread_mutex_unlock(&buffers_lock);
    return buffer;
}

__attribute__((used)) void locked_buffer_return(void *buffer)
{
    pthread_mutex_lock(&buffers_lock);
    real_buffer_return(buffer);
    pthread_mutex_unlock(&buffers_lock);
}

static void check_sizes(size_t rows, size_t inner, size_t columns)
{
    assert(rows <= INT_MAX && inner <= INT_MAX && columns <= INT_MAX);
    assert(inner > 0 && columns > 0);
}

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lanes_mask __attribute__((vector_size(LANES * sizeof(int32_t))));

/* SIDE x TILE results, in registers. */
typedef lanes tile[SIDE][TILE / LANES];

static lanes lanes_load(const float *p)
{
    lanes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void lanes_store(float *p, lanes v)
{
    memcpy(p, &v, sizeof v);
}

static void add_bias(float *restrict row, const float *restrict bias, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        row[j] += bias[j];
}

static void rectify_row(float *row, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        row[j] = row[j] < 0.0F ? 0.0F : row[j]; /* false for NaN */
}

/* Sets row[i] to 0 wherever where[i] is not positive. The loop is written with vectors: the
 * compiler turns the plain loop into one branch a number, which the processor cannot predict. */
static void keep_where(float *restrict row, const float *restrict where, size_t columns)
{
    size_t whole = columns / LANES * LANES;
    for (size_t j = 0; j < whole; j += LANES) {
        lanes_mask positive = lanes_load(where + j) > 0.0F;
        lanes_store(row + j, (lanes)((lanes_mask)lanes_load(row + j) & positive));
    }
    for (size_t j = whole; j < columns; j++)
        row[j] = where[j] > 0.0F ? row[j] : 0.0F;
}

void matrix_finish(size_t rows, size_t columns, float *c, const struct matrix_finish *finish)
{
    if (!finish)
        return;
    for (size_t i = 0; i < rows; i++) {
        float *row = c + i * columns;
        if (finish->bias)
            add_bias(row, finish->bias, columns);
        if (finish->rectify)
            rectify_row(row, columns);
        if (finish->where)
            keep_where(row, finish->where + i * columns, columns);
    }
}

static float lanes_sum(lanes v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* OUT[r] = sum over n < STEPS of factor[r][n ALONG] times TILE numbers from VECTORS + n STRIDE. */
static inline void tile_sum(size_t steps, const float *const factor[SIDE], size_t along,
                            const float *vectors, size_t stride, tile out)
{
    tile sum = {{{0}}};
    for (size_t n = 0; n < steps; n++) {
        lanes v[TILE / LANES];
        for (size_t l = 0; l < TILE / LANES; l++)
            v[l] = lanes_load(vectors + n * stride + l * LANES);
        for (size_t r = 0; r < SIDE; r++)
            for (size_t l = 0; l < TILE / LANES; l++)
                sum[r][l] += v[l] * factor[r][n * along];
    }
    memcpy(out, sum, sizeof sum);
}

/* The rows FIRST .. FIRST + SIDE - 1 of ROWS that begin every STRIDE; beyond the end the last. */
static inline void side_of(const float *rows_of, size_t stride, size_t first, size_t rows,
                           const float *out[SIDE])
{
    for (size_t r = 0; r < SIDE; r++)
        out[r] = rows_of + (first + r < rows ? first + r : rows - 1) * stride;
}

/* WIDTH numbers of a tile's row; all of them without a call. */
static inline void row_out(float *c, const lanes row[TILE / LANES], size_t width)
{
    if (width == TILE)
        /* cppcheck-suppress bufferAccessOutOfBounds ; it takes a vector for one number */
        memcpy(c, row, TILE * sizeof *c);
    else
        memcpy(c, row, width * sizeof *c);
}

/* C = A B^T for a narrow inner dimension: TILE of B's rows are transposed, then SIDE rows of A at a
 * time combine them. */
static void narrow_times_transposed(size_t rows, size_t inner, size_t columns,
                                    const float *restrict a, const float *restrict b,
                                    float *restrict c)
{
    float packed[NARROW * TILE];
    for (size_t first = 0; first < columns; first += TILE) {
        size_t width = columns - first < TILE ? columns - first : TILE;
        memset(packed, 0, sizeof packed);
        for (size_t j = 0; j < width; j++)
            for (size_t k = 0; k < inner; k++)
                packed[k * TILE + j] = b[(first + j) * inner + k];
        for (size_t i = 0; i < rows; i += SIDE) {
            const float *row[SIDE];
            tile sum;
            side_of(a, inner, i, rows, row);
            tile_sum(inner, row, 1, packed, TILE, sum);
            for (size_t r = 0; r < SIDE && i + r < rows; r++)
                row_out(c + (i + r) * columns + first, sum[r], width);
        }
    }
}

/* C = A B^T for few rows of B: dot products, of SIDE rows of A at a time. */
static void narrow_dots(size_t rows, size_t inner, size_t columns, const float *restrict a,
                        const float *restrict b, float *restrict c)
{
    size_t eights = inner / LANES * LANES;
    for (size_t i = 0; i < rows; i += SIDE) {
        const float *row[SIDE];
        side_of(a, inner, i, rows, row);
        for (size_t j = 0; j < columns; j++) {
            const float *other = b + j * inner;
            lanes sum[SIDE] = {{0}};
            float rest[SIDE] = {0};
            for (size_t k = 0; k < eights; k += LANES)
                for (size_t r = 0; r < SIDE; r++)
                    sum[r] += lanes_load(row[r] + k) * lanes_load(other + k);
            for (size_t k = eights; k < inner; k++)
                for (size_t r = 0; r < SIDE; r++)
                    rest[r] += row[r][k] * other[k];
            for (size_t r = 0; r < SIDE && i + r < rows; r++)
                c[(i + r) * columns + j] = lanes_sum(sum[r]) + rest[r];
        }
    }
}

void matrix_times_transposed(size_t rows, size_t inner, size_t columns, const float *a,
                             const float *b, float *c, const struct matrix_finish *finish)
{
    check_sizes(rows, inner, columns);
    if (inner <= NARROW)
        narrow_times_transposed(rows, inner, columns, a, b, c);
    else if (columns <= NARROW)
        narrow_dots(rows, inner, columns, a, b, c);
    else
        matrix_panel_times_transposed(rows, inner, columns, a, b, c);
    matrix_finish(rows, columns, c, finish);
}

static void narrow_times(size_t rows, size_t inner, size_t columns, const float *restrict a,
                         const float *restrict b, float *restrict c)
{
    for (size_t i = 0; i < rows; i++) {
        float *restrict out = c + i * columns;
        float factor = a[i * inner];
        for (size_t j = 0; j < columns; j++)
            out[j] = factor * b[j];
        for (size_t k = 1; k < inner; k++) {
            const float *restrict row = b + k * columns;
            factor = a[i * inner + k];
            for (size_t j = 0; j < columns; j++)
                out[j] += factor * row[j];
        }
    }
}

void matrix_times(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                  float *c, const struct matrix_finish *finish)
{
    check_sizes(rows, inner, columns);
    if (inner <= NARROW)
        narrow_times(rows, inner, columns, a, b, c);
    else
        matrix_panel_times(rows, inner, columns, a, b, c);
    matrix_finish(rows, columns, c, finish);
}

/* C += A^T B for few rows of C: one rank-one update of C for each example. A's rows begin every
 * STRIDE, here and below. */
static void narrow_rows_add(size_t rows, size_t inner, size_t columns, const float *restrict a,
                            size_t stride, const float *restrict b, float *restrict c)
{
    for (size_t n = 0; n < inner; n++) {
        const float *restrict source = b + n * columns;
        for (size_t i = 0; i < rows; i++) {
            float factor = a[n * stride + i];
            float *restrict out = c + i * columns;
            for (size_t j = 0; j < columns; j++)
                out[j] += factor * source[j];
        }
    }
}

/* C += A^T B for few columns of C: tiles of C^T are summed along A's rows, then added across. */
static void narrow_columns_add(size_t rows, size_t inner, size_t columns, const float *restrict a,
                               size_t stride, const float *restrict b, float *restrict c)
{
    size_t whole = rows / TILE * TILE;
    for (size_t first = 0; first < whole; first += TILE) {
        for (size_t k = 0; k < columns; k += SIDE) {
            const float *column[SIDE];
            tile sum;
            side_of(b, 1, k, columns, column);
            tile_sum(inner, column, columns, a + first, stride, sum);
            for (size_t j = 0; j < TILE; j++)
                for (size_t r = 0; r < SIDE && k + r < columns; r++)
                    c[(first + j) * columns + k + r] += sum[r][j / LANES][j % LANES];
        }
    }
    for (size_t n = 0; n < inner; n++) {
        for (size_t i = whole; i < rows; i++)
            for (size_t k = 0; k < columns; k++)
                c[i * columns + k] += a[n * stride + i] * b[n * columns + k];
    }
}

void matrix_transposed_times_some(size_t rows, size_t first, size_t count, size_t inner,
                                  size_t columns, const float *a, const float *b, float *c,
                                  bool add)
{
    assert(count > 0 && first + count <= rows && rows <= INT_MAX && inner <= INT_MAX);
    assert(columns > 0 && columns <= INT_MAX);
    bool by_hand = count <= NARROW || columns <= NARROW;
    if (!add && (by_hand || inner == 0))
        memset(c, 0, count * columns * sizeof *c);
    if (inner == 0)
        return;
    if (columns <= NARROW) {
        narrow_columns_add(count, inner, columns, a + first, rows, b, c);
        return;
    }
    if (count <= NARROW) {
        narrow_rows_add(count, inner, columns, a + first, rows, b, c);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)count, (int)columns, (int)inner, 1.0F,
                a + first, (int)rows, b, (int)columns, add ? 1.0F : 0.0F, c, (int)columns);
}

void matrix_transposed_times(size_t rows, size_t inner, size_t columns, const float *a,
                             const float *b, float *c, bool add)
{
    matrix_transposed_times_some(rows, 0, rows, inner, columns, a, b, c, add);
}
