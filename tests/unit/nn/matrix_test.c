/* Every product against its definition, at sizes on both sides of every change of method. */
#include "algos/nn/matrix.h"
#include "tests/unit/nn/naive.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envs/rng.h"

static const size_t sizes[] = {1, 2, 4, 7, 16, 17, 47, 64, 65, 130};
enum { SIZES = sizeof sizes / sizeof sizes[0], MOST = 132 * 132 };

struct fixture {
    float a[MOST], b[MOST], fast[MOST], naive[MOST];
};

static struct fixture *fixture_new(void)
{
    struct fixture *f = malloc(sizeof *f);
    cr_assert_not_null(f);
    struct rng rng;
    rng_seed(&rng, 11, 0);
    for (size_t i = 0; i < MOST; i++) {
        f->a[i] = (float)rng_normal(&rng);
        f->b[i] = (float)rng_normal(&rng);
        f->fast[i] = f->naive[i] = (float)rng_normal(&rng);
    }
    return f;
}

static void compare(const struct fixture *f, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        cr_assert_lt(fabsf(f->fast[i] - f->naive[i]), 2e-4F, "%s entry %zu: %g not %g", what, i,
                     (double)f->fast[i], (double)f->naive[i]);
}

typedef void product(size_t, size_t, size_t, const float *, const float *, float *);

static void check(product *fast, product *naive, const char *what)
{
    struct fixture *f = fixture_new();
    for (int r = 0; r < SIZES; r++) {
        for (int k = 0; k < SIZES; k++) {
            for (int c = 0; c < SIZES; c++) {
                fast(sizes[r], sizes[k], sizes[c], f->a, f->b, f->fast);
                naive(sizes[r], sizes[k], sizes[c], f->a, f->b, f->naive);
                compare(f, sizes[r] * sizes[c], what);
            }
        }
    }
    free(f);
}

static void times_transposed(size_t r, size_t k, size_t c, const float *a, const float *b,
                             float *out)
{
    matrix_times_transposed(r, k, c, a, b, out, NULL);
}

static void times(size_t r, size_t k, size_t c, const float *a, const float *b, float *out)
{
    matrix_times(r, k, c, a, b, out, NULL);
}

Test(matrix, times_transposed_is_its_definition)
{
    check(times_transposed, matrix_times_transposed_naive, "A B'");
}

Test(matrix, times_is_its_definition)
{
    check(times, matrix_times_naive, "A B");
}

/* Adds to what is there: a drift of the sums between calls would show. */
static void add_fast(size_t r, size_t k, size_t c, const float *a, const float *b, float *out)
{
    for (size_t i = 0; i < r * c; i++)
        out[i] = 0.5F;
    matrix_transposed_times(r, k, c, a, b, out, true);
}

static void add_naive(size_t r, size_t k, size_t c, const float *a, const float *b, float *out)
{
    for (size_t i = 0; i < r * c; i++)
        out[i] = 0.5F;
    matrix_transposed_times_add_naive(r, k, c, a, b, out);
}

Test(matrix, transposed_times_add_is_its_definition)
{
    check(add_fast, add_naive, "C + A' B");
}

/* Whatever was there is gone, even if it was not finite. */
static void set_fast(size_t r, size_t k, size_t c, const float *a, const float *b, float *out)
{
    for (size_t i = 0; i < r * c; i++)
        out[i] = NAN;
    matrix_transposed_times(r, k, c, a, b, out, false);
}

static void set_naive(size_t r, size_t k, size_t c, const float *a, const float *b, float *out)
{
    memset(out, 0, r * c * sizeof *out);
    matrix_transposed_times_add_naive(r, k, c, a, b, out);
}

Test(matrix, transposed_times_is_its_definition)
{
    check(set_fast, set_naive, "A' B");
}

/* Longer than what is packed at once, from which on results are added to; with rows enough for the
 * packed product and with fewer. */
static void check_long_sums(size_t rows)
{
    enum { INNER = 511, COLUMNS = 33 };
    struct fixture *f = fixture_new();
    cr_assert_leq(rows * INNER, (size_t)MOST);
    matrix_times_transposed(rows, INNER, COLUMNS, f->a, f->b, f->fast, NULL);
    matrix_times_transposed_naive(rows, INNER, COLUMNS, f->a, f->b, f->naive);
    compare(f, rows * COLUMNS, "A B'");
    matrix_times(rows, INNER, COLUMNS, f->a, f->b, f->fast, NULL);
    matrix_times_naive(rows, INNER, COLUMNS, f->a, f->b, f->naive);
    compare(f, rows * COLUMNS, "A B");
    add_fast(rows, INNER, COLUMNS, f->a, f->b, f->fast);
    add_naive(rows, INNER, COLUMNS, f->a, f->b, f->naive);
    compare(f, rows * COLUMNS, "C + A' B");
    free(f);
}

Test(matrix, long_sums_are_their_definition)
{
    check_long_sums(13);
    check_long_sums(29);
}

/* The last step of both products, in every method, is that of matrix_finish on what they give
 * without it, to the bit. */
static void check_finish(size_t rows, size_t inner, size_t columns, struct fixture *f)
{
    const struct matrix_finish finishes[] = {
        {.bias = f->b}, {.bias = f->b, .rectify = true}, {.where = f->b}};
    for (size_t n = 0; n < 3; n++) {
        matrix_times_transposed(rows, inner, columns, f->a, f->b, f->naive, NULL);
        matrix_finish(rows, columns, f->naive, &finishes[n]);
        matrix_times_transposed(rows, inner, columns, f->a, f->b, f->fast, &finishes[n]);
        cr_assert_arr_eq(f->fast, f->naive, rows * columns * sizeof(float));
        matrix_times(rows, inner, columns, f->a, f->b, f->naive, NULL);
        matrix_finish(rows, columns, f->naive, &finishes[n]);
        matrix_times(rows, inner, columns, f->a, f->b, f->fast, &finishes[n]);
        cr_assert_arr_eq(f->fast, f->naive, rows * columns * sizeof(float));
    }
}

Test(matrix, products_finish_as_they_say)
{
    struct fixture *f = fixture_new();
    for (int r = 0; r < SIZES; r++) {
        for (int k = 0; k < SIZES; k++)
            for (int c = 0; c < SIZES; c++)
                check_finish(sizes[r], sizes[k], sizes[c], f);
    }
    free(f);
}

Test(matrix, finish_is_its_definition)
{
    const float bias[3] = {1, -1, 0.5F}, where[6] = {1, 0, -1, 2, NAN, 3};
    float c[6] = {-2, 3, 0, 0, -5, NAN};
    matrix_finish(2, 3, c, &(struct matrix_finish){.bias = bias, .rectify = true});
    const float rectified[5] = {0, 2, 0.5F, 1, 0};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(c[i], rectified[i]);
    cr_assert(isnan(c[5]), "what is not finite must show");
    c[5] = 7;
    matrix_finish(2, 3, c, &(struct matrix_finish){.where = where});
    const float gated[6] = {0, 0, 0, 1, 0, 7};
    for (int i = 0; i < 6; i++)
        cr_assert_eq(c[i], gated[i]);
}

/* Columns that fill vectors and some that do not; among the gates zeros of both signs and what is
 * no number, which keep nothing. */
Test(matrix, every_lane_is_gated_by_its_own_number)
{
    enum { COLUMNS = 19, ROWS = 3 };
    static const float gates[] = {1, 0, -1, 1e-30F, NAN, -0.0F, INFINITY, -INFINITY, 2, -3, 5};
    float where[ROWS * COLUMNS], c[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        where[i] = gates[i % (int)(sizeof gates / sizeof gates[0])];
        c[i] = (float)(i + 1) * (i % 2 == 0 ? 1.0F : -1.0F);
    }
    matrix_finish(ROWS, COLUMNS, c, &(struct matrix_finish){.where = where});
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        float before = (float)(i + 1) * (i % 2 == 0 ? 1.0F : -1.0F);
        cr_assert_eq(c[i], where[i] > 0.0F ? before : 0.0F, "number %d", i);
    }
}

/* What is not finite stays in its own row, and shows there through the rectifier: of few rows and
 * of many, at every place of a tile of rows. */
static void check_not_finite(size_t rows, size_t bad)
{
    enum { INNER = 300, COLUMNS = 40 };
    struct fixture *f = fixture_new();
    const struct matrix_finish finish = {.bias = f->b, .rectify = true};
    cr_assert_leq(rows * INNER, (size_t)MOST);
    matrix_times_transposed(rows, INNER, COLUMNS, f->a, f->b, f->naive, &finish);
    f->a[bad * INNER + 3] = NAN;
    matrix_times_transposed(rows, INNER, COLUMNS, f->a, f->b, f->fast, &finish);
    for (size_t i = 0; i < rows * COLUMNS; i++)
        if (i / COLUMNS == bad)
            cr_assert(isnan(f->fast[i]));
        else
            cr_assert_eq(f->fast[i], f->naive[i]);
    free(f);
}

Test(matrix, a_row_that_is_not_finite_shows_and_disturbs_no_other)
{
    check_not_finite(11, 5);
    for (size_t bad = 0; bad < 27; bad++)
        check_not_finite(27, bad);
}

Test(matrix, no_examples_add_nothing)
{
    float c[6] = {1, 2, 3, 4, 5, 6}, a[1] = {9}, b[1] = {9};
    matrix_transposed_times(2, 0, 3, a, b, c, true);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(c[i], (float)(i + 1));
    matrix_transposed_times(2, 0, 3, a, b, c, false);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(c[i], 0.0F);
}

Test(matrix, vector_product_has_one_order_of_operations)
{
    struct fixture *f = fixture_new();
    for (int r = 0; r < SIZES; r++) {
        for (int k = 0; k < SIZES; k++) {
            matrix_times_vector(sizes[r], sizes[k], f->a, f->b, f->fast);
            matrix_times_transposed_naive(1, sizes[k], sizes[r], f->b, f->a, f->naive);
            compare(f, sizes[r], "A x");
            /* Each row alone gives the same bits as within the block. */
            for (size_t i = 0; i < sizes[r]; i++) {
                matrix_times_vector(1, sizes[k], f->a + i * sizes[k], f->b, f->naive);
                cr_assert_eq(f->naive[0], f->fast[i]);
            }
        }
    }
    free(f);
}

/* Each row has the bits that it has alone, in any company and on both sides of every tile,
 * whichever loops compute it. */
Test(matrix, rows_of_a_product_have_the_same_bits_alone)
{
    static const size_t inner[] = {1, 5, 16, 17, 70, 512, 513}, columns[] = {1, 7, 16, 17, 32, 33};
    static const size_t rows[] = {1, 3, 7, 8, 9, 25};
    struct fixture *f = fixture_new();
    for (size_t n = 0; n < 7 * 6 * 6; n++) {
        size_t k = inner[n % 7], c = columns[n / 7 % 6], r = rows[n / 42];
        float alone[33];
        matrix_times_transposed(r, k, c, f->a, f->b, f->fast, NULL);
        matrix_times_transposed_naive(r, k, c, f->a, f->b, f->naive);
        compare(f, r * c, "A B^T");
        for (size_t i = 0; i < r; i++) {
            matrix_times_transposed(1, k, c, f->a + i * k, f->b, alone, NULL);
            cr_assert_arr_eq(f->fast + i * c, alone, c * sizeof *alone, "%zu x %zu x %zu", r, k, c);
        }
        matrix_times(r, k, c, f->a, f->b, f->fast, NULL);
        matrix_times_naive(r, k, c, f->a, f->b, f->naive);
        compare(f, r * c, "A B");
        for (size_t i = 0; i < r; i++) {
            matrix_times(1, k, c, f->a + i * k, f->b, alone, NULL);
            cr_assert_arr_eq(f->fast + i * c, alone, c * sizeof *alone, "%zu x %zu x %zu", r, k, c);
        }
    }
    free(f);
}
