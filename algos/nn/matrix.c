/* Matrix products: BLAS where it is good, by hand where a dimension is narrow (a world has 2 to 16
 * numbers and actions; packing costs BLAS four fifths of its rate there).
 *
 * The loops by hand keep a tile of TILE floats of the result in registers or the first cache and
 * let the compiler vectorise along it; restrict and constant tile widths are what it needs for
 * that. */
#include "algos/nn/matrix.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { NARROW = 16, TILE = 64 };

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

/* C = A B^T for a narrow inner dimension: B's rows are transposed into a tile, then each row of A
 * combines the tile's rows. */
static void narrow_times_transposed(size_t rows, size_t inner, size_t columns,
                                    const float *restrict a, const float *restrict b,
                                    float *restrict c)
{
    float tile[NARROW][TILE];
    for (size_t first = 0; first < columns; first += TILE) {
        size_t width = columns - first < TILE ? columns - first : TILE;
        memset(tile, 0, sizeof tile);
        for (size_t j = 0; j < width; j++) {
            for (size_t k = 0; k < inner; k++)
                tile[k][j] = b[(first + j) * inner + k];
        }
        for (size_t i = 0; i < rows; i++) {
            float sum[TILE] = {0};
            for (size_t k = 0; k < inner; k++) {
                float factor = a[i * inner + k];
                for (size_t j = 0; j < TILE; j++)
                    sum[j] += factor * tile[k][j];
            }
            memcpy(c + i * columns + first, sum, width * sizeof *sum);
        }
    }
}

void matrix_times_transposed(size_t rows, size_t inner, size_t columns, const float *a,
                             const float *b, float *c)
{
    check_sizes(rows, inner, columns);
    if (rows == 0)
        return;
    if (inner <= NARROW) {
        narrow_times_transposed(rows, inner, columns, a, b, c);
        return;
    }
    if (columns <= NARROW) {
        for (size_t i = 0; i < rows; i++)
            matrix_times_vector(columns, inner, b, a + i * inner, c + i * columns);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)columns, (int)inner, 1.0F,
                a, (int)inner, b, (int)inner, 0.0F, c, (int)columns);
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
                  float *c)
{
    check_sizes(rows, inner, columns);
    if (rows == 0)
        return;
    if (inner <= NARROW) {
        narrow_times(rows, inner, columns, a, b, c);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, (int)inner,
                1.0F, a, (int)inner, b, (int)columns, 0.0F, c, (int)columns);
}

/* C += A^T B for few rows of C: one rank-one update of C for each example. */
static void narrow_rows_add(size_t rows, size_t inner, size_t columns, const float *restrict a,
                            const float *restrict b, float *restrict c)
{
    for (size_t n = 0; n < inner; n++) {
        const float *restrict source = b + n * columns;
        for (size_t i = 0; i < rows; i++) {
            float factor = a[n * rows + i];
            float *restrict out = c + i * columns;
            for (size_t j = 0; j < columns; j++)
                out[j] += factor * source[j];
        }
    }
}

/* C += A^T B for few columns of C: a tile of C^T is summed along A's rows, then added across. */
static void narrow_columns_add(size_t rows, size_t inner, size_t columns, const float *restrict a,
                               const float *restrict b, float *restrict c)
{
    for (size_t first = 0; first < rows; first += TILE) {
        size_t width = rows - first < TILE ? rows - first : TILE;
        float tile[NARROW][TILE] = {{0}};
        for (size_t n = 0; n < inner; n++) {
            float source[TILE] = {0};
            memcpy(source, a + n * rows + first, width * sizeof *source);
            for (size_t k = 0; k < columns; k++) {
                float factor = b[n * columns + k];
                for (size_t j = 0; j < TILE; j++)
                    tile[k][j] += factor * source[j];
            }
        }
        for (size_t j = 0; j < width; j++) {
            for (size_t k = 0; k < columns; k++)
                c[(first + j) * columns + k] += tile[k][j];
        }
    }
}

void matrix_transposed_times_add(size_t rows, size_t inner, size_t columns, const float *a,
                                 const float *b, float *c)
{
    assert(rows > 0 && rows <= INT_MAX && inner <= INT_MAX);
    assert(columns > 0 && columns <= INT_MAX);
    if (inner == 0)
        return;
    if (columns <= NARROW) {
        narrow_columns_add(rows, inner, columns, a, b, c);
        return;
    }
    if (rows <= NARROW) {
        narrow_rows_add(rows, inner, columns, a, b, c);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)rows, (int)columns, (int)inner, 1.0F,
                a, (int)rows, b, (int)columns, 1.0F, c, (int)columns);
}

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
