/* Whole gradients: their norm, their mean over the dither, and that no order shows. */
#include "algos/nn/per_example_lattice.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"
#include "algos/nn/per_example.h"

enum { ROWS = 40, IN = 5, HIDDEN = 19, OUT = 3, COUNT = (IN + 1) * HIDDEN + (HIDDEN + 1) * OUT };

#define NORM ((double)PER_EXAMPLE_LATTICE_NORM)

static const struct mlp_shape shape = {.input = IN, .layer_count = 2, .width = {HIDDEN, OUT}};

struct fixture {
    struct batch *batch;
    struct per_example_lattice lattice;
    float parameters[COUNT], inputs[ROWS][IN], errors[ROWS][OUT], factor[ROWS];
    double squared_norm[ROWS];
};

static void setup(struct fixture *f)
{
    struct rng rng;
    rng_seed(&rng, 6, 0);
    f->batch = batch_new(&shape, ROWS);
    cr_assert_not_null(f->batch);
    per_example_lattice_init(&f->lattice, &shape);
    per_example_lattice_dither(&f->lattice, &shape, 6, 0);
    mlp_initialize(&shape, &rng, 1.0, f->parameters);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < IN; k++)
            f->inputs[i][k] = (float)(3.0 * rng_normal(&rng));
        for (int k = 0; k < OUT; k++)
            f->errors[i][k] = (float)rng_normal(&rng);
    }
}

static void done(struct fixture *f)
{
    per_example_lattice_clear(&f->lattice);
    batch_free(f->batch);
}

/* The errors and factors at CLIP of the rows that ORDER names. */
static void prepare(struct fixture *f, const int *order, uint32_t rows, double clip)
{
    for (uint32_t i = 0; i < rows; i++)
        memcpy(batch_input(f->batch) + i * IN, f->inputs[order[i]], sizeof f->inputs[0]);
    (void)batch_forward(f->batch, f->parameters, rows);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(batch_output_error(f->batch) + i * OUT, f->errors[order[i]], sizeof f->errors[0]);
    batch_backward(f->batch, f->parameters, rows);
    memset(f->squared_norm, 0, sizeof f->squared_norm);
    per_example_squared_norm_add(f->batch, rows, f->squared_norm);
    per_example_factors(f->squared_norm, rows, clip, f->factor);
}

/* SUM[COUNT] += (FIRST: =) the whole gradients of F's rows. */
static void add_whole(struct fixture *f, uint32_t rows, uint32_t group, const float *factor,
                      double units, int64_t *sum, bool first)
{
    struct per_example_part parts[16];
    float product[COUNT];
    uint32_t count = per_example_parts(&shape, parts);
    per_example_lattice_round(&f->lattice, f->batch, rows, group, factor, units);
    for (uint32_t i = 0; i < count; i++)
        per_example_lattice_product(&f->lattice, f->batch, rows, &parts[i], product, false);
    for (int i = 0; i < COUNT; i++)
        sum[i] = (first ? 0 : sum[i]) + (int32_t)product[i];
}

static void sum_of(struct fixture *f, const int *order, uint32_t rows, double clip, int64_t *sum)
{
    prepare(f, order, rows, clip);
    add_whole(f, rows, 1, f->factor, NORM / clip, sum, false);
}

static void in_order(int order[ROWS])
{
    for (int i = 0; i < ROWS; i++)
        order[i] = i;
}

/* Over the steps' dithers the mean is the clipped gradient, but for what rounding takes of a row
 * that is clipped. A coordinate's rounding has at most a deviation of a quarter of INPUT_NORM here;
 * seven deviations of the mean. */
Test(per_example_lattice, its_mean_is_the_gradient)
{
    enum { STEPS = 4000 };
    struct fixture f;
    setup(&f);
    const double clips[] = {0.5, 1e3};
    for (int c = 0; c < 2; c++)
        for (int row = 0; row < 4; row++) {
            static double mean[COUNT];
            float gradient[COUNT] = {0};
            double units = NORM / clips[c], length = 0.0;
            memset(mean, 0, sizeof mean);
            for (int step = 0; step < STEPS; step++) {
                int64_t whole[COUNT] = {0};
                per_example_lattice_dither(&f.lattice, &shape, 6, (uint64_t)step);
                sum_of(&f, &row, 1, clips[c], whole);
                for (int i = 0; i < COUNT; i++)
                    mean[i] += (double)whole[i] / STEPS;
            }
            prepare(&f, &row, 1, clips[c]);
            per_example_scale(f.batch, 1, f.factor);
            batch_gradient_add(f.batch, 1, gradient);
            for (int i = 0; i < COUNT; i++)
                length += (double)gradient[i] * (double)gradient[i] * units * units;
            for (int i = 0; i < COUNT; i++) {
                double exact = (double)gradient[i] * units;
                cr_assert_float_eq(mean[i], exact, 0.01 * fabs(exact) + 7.0 * 0.35 * 256.0 / 63.0,
                                   "clip %g, row %d, weight %d", clips[c], row, i);
            }
            cr_assert_gt(length, 1.0);
        }
    done(&f);
}

Test(per_example_lattice, no_row_is_longer_than_the_clip_norm)
{
    struct fixture f;
    setup(&f);
    const double clips[] = {1e-3, 0.1, 2.0, 50.0};
    double longest = 0.0;
    for (int n = 0; n < 40; n++) {
        per_example_lattice_dither(&f.lattice, &shape, 7, (uint64_t)n);
        for (int row = 0; row < ROWS; row++) {
            int64_t whole[COUNT] = {0};
            __int128 square = 0;
            sum_of(&f, &row, 1, clips[n % 4], whole);
            for (int i = 0; i < COUNT; i++)
                square += (__int128)whole[i] * whole[i];
            cr_assert(square <= (__int128)PER_EXAMPLE_LATTICE_NORM * PER_EXAMPLE_LATTICE_NORM);
            longest = fmax(longest, sqrt((double)square) / NORM);
        }
    }
    cr_assert_gt(longest, 0.99, "the clip was reached");
    done(&f);
}

/* The factors are a promise of the caller's; the norm holds without it. */
Test(per_example_lattice, a_factor_that_is_too_large_is_lowered)
{
    struct fixture f;
    setup(&f);
    int row = 3;
    int64_t whole[COUNT] = {0};
    __int128 square = 0;
    prepare(&f, &row, 1, 1.0);
    f.factor[0] *= 30.0F;
    add_whole(&f, 1, 1, f.factor, NORM, whole, true);
    for (int i = 0; i < COUNT; i++)
        square += (__int128)whole[i] * whole[i];
    cr_assert(square <= (__int128)PER_EXAMPLE_LATTICE_NORM * PER_EXAMPLE_LATTICE_NORM);
    cr_assert_gt((double)square, 0.9 * NORM * NORM);
    done(&f);
}

/* Forwards, backwards, in two parts, and one by one: the same whole numbers. */
Test(per_example_lattice, neither_order_nor_company_shows)
{
    struct fixture f;
    setup(&f);
    int order[ROWS], back[ROWS];
    int64_t all[COUNT] = {0}, reversed[COUNT] = {0}, parts[COUNT] = {0}, single[COUNT] = {0};
    in_order(order);
    for (int i = 0; i < ROWS; i++)
        back[i] = ROWS - 1 - i;
    sum_of(&f, order, ROWS, 1.0, all);
    sum_of(&f, back, ROWS, 1.0, reversed);
    sum_of(&f, order, 13, 1.0, parts);
    sum_of(&f, order + 13, ROWS - 13, 1.0, parts);
    for (int i = 0; i < ROWS; i++)
        sum_of(&f, &i, 1, 1.0, single);
    cr_assert_arr_eq(all, reversed, sizeof all);
    cr_assert_arr_eq(all, parts, sizeof all);
    cr_assert_arr_eq(all, single, sizeof all);
    done(&f);
}

Test(per_example_lattice, broken_rows_contribute_nothing)
{
    struct fixture f;
    setup(&f);
    int order[ROWS];
    int64_t whole[COUNT] = {0}, rest[COUNT] = {0};
    in_order(order);
    f.inputs[0][2] = NAN;
    f.errors[1][0] = INFINITY;
    f.inputs[2][0] = 1e30F;
    sum_of(&f, order, ROWS, 1.0, whole);
    sum_of(&f, order + 3, ROWS - 3, 1.0, rest);
    cr_assert_arr_eq(whole, rest, sizeof whole);
    done(&f);
}

/* ---- groups: several rows are one example */

/* The whole sum of GROUP rows that begin at ORDER, clipped as one at CLIP, each times 1 / GROUP. */
static void sum_of_group(struct fixture *f, const int *order, uint32_t rows, uint32_t group,
                         double clip, int64_t *sum)
{
    prepare(f, order, rows, clip);
    per_example_group_squared_norm(f->batch, rows, group, f->squared_norm);
    per_example_factors(f->squared_norm, rows, group * clip, f->factor);
    for (uint32_t i = 0; i < rows; i++)
        f->factor[i] /= (float)group;
    add_whole(f, rows, group, f->factor, NORM / clip, sum, false);
}

static double length_of(const int64_t *whole)
{
    __int128 square = 0;
    for (int i = 0; i < COUNT; i++)
        square += (__int128)whole[i] * whole[i];
    cr_assert(square <= (__int128)PER_EXAMPLE_LATTICE_NORM * PER_EXAMPLE_LATTICE_NORM);
    return sqrt((double)square) / NORM;
}

Test(per_example_lattice, no_group_is_longer_than_the_clip_norm)
{
    struct fixture f;
    setup(&f);
    const double clips[] = {1e-3, 0.1, 2.0, 50.0};
    const uint32_t groups[] = {2, 3, 8, 20, 40};
    double longest = 0.0;
    for (int n = 0; n < 60; n++) {
        int order[ROWS];
        for (int i = 0; i < ROWS; i++)
            order[i] = (7 * i + n) % ROWS;
        int64_t whole[COUNT] = {0};
        per_example_lattice_dither(&f.lattice, &shape, 8, (uint64_t)n);
        sum_of_group(&f, order, groups[n % 5], groups[n % 5], clips[n % 4], whole);
        longest = fmax(longest, length_of(whole));
    }
    cr_assert_gt(longest, 0.99, "the clip was reached");
    done(&f);
}

/* Gradients that cancel, each a thousand times longer than the clip norm allows their mean to be:
 * neither may pass what sums in float hold. */
Test(per_example_lattice, a_group_that_cancels_keeps_every_bound)
{
    enum { PAIR = 2 };
    struct fixture f;
    setup(&f);
    for (int i = 1; i < PAIR; i++)
        memcpy(f.inputs[i], f.inputs[0], sizeof f.inputs[0]);
    for (int k = 0; k < OUT; k++) {
        f.errors[0][k] *= 1e4F;
        f.errors[1][k] = -f.errors[0][k];
    }
    int order[ROWS];
    int64_t whole[COUNT] = {0};
    in_order(order);
    sum_of_group(&f, order, PAIR, PAIR, 1.0, whole);
    cr_assert_lt(length_of(whole), 0.1);
    for (int row = 0; row < PAIR; row++) {
        int64_t alone[COUNT] = {0};
        float factor = f.factor[row];
        prepare(&f, &row, 1, 1.0);
        add_whole(&f, 1, 1, &factor, NORM, alone, true);
        cr_assert_gt(length_of(alone), 0.5, "the rows themselves are long");
    }
    done(&f);
}

/* The mean over dithers of a group's sum is the clipped mean of its rows' gradients. */
Test(per_example_lattice, a_group_is_the_clipped_mean_of_its_rows)
{
    enum { STEPS = 2000, GROUP = 5 };
    struct fixture f;
    setup(&f);
    int order[ROWS];
    in_order(order);
    const double clips[] = {0.5, 1e3};
    for (int c = 0; c < 2; c++) {
        static double mean[COUNT];
        float gradient[COUNT] = {0};
        double units = NORM / clips[c], squares = 0.0;
        memset(mean, 0, sizeof mean);
        for (int step = 0; step < STEPS; step++) {
            int64_t whole[COUNT] = {0};
            per_example_lattice_dither(&f.lattice, &shape, 9, (uint64_t)step);
            sum_of_group(&f, order, GROUP, GROUP, clips[c], whole);
            for (int i = 0; i < COUNT; i++)
                mean[i] += (double)whole[i] / STEPS;
        }
        prepare(&f, order, GROUP, 1e9);
        batch_gradient_add(f.batch, GROUP, gradient);
        for (int i = 0; i < COUNT; i++)
            squares += pow((double)gradient[i] / GROUP, 2.0);
        double factor = fmin(1.0, clips[c] / sqrt(squares)) / GROUP;
        for (int i = 0; i < COUNT; i++) {
            double exact = factor * (double)gradient[i] * units;
            /* as above, each row with its own rounding */
            cr_assert_float_eq(mean[i], exact,
                               0.01 * fabs(exact) + 7.0 * 0.35 * 256.0 * GROUP / sqrt(STEPS),
                               "clip %g, weight %d", clips[c], i);
        }
        cr_assert_eq(c == 0, sqrt(squares) > clips[c], "one of both is clipped");
    }
    done(&f);
}

Test(per_example_lattice, groups_do_not_depend_on_their_company)
{
    enum { GROUP = 8 };
    struct fixture f;
    setup(&f);
    int order[ROWS];
    int64_t all[COUNT] = {0}, single[COUNT] = {0};
    in_order(order);
    f.inputs[GROUP + 1][2] = NAN; /* its group adds nothing */
    f.errors[3 * GROUP + 5][0] = INFINITY;
    sum_of_group(&f, order, ROWS, GROUP, 1.0, all);
    for (int g = 4; g >= 0; g -= 2)
        sum_of_group(&f, order + (ptrdiff_t)g * GROUP, GROUP, GROUP, 1.0, single);
    cr_assert_arr_eq(all, single, sizeof all);
    cr_assert_gt(fabs((double)all[0]) + fabs((double)all[1]), 0.0);
    done(&f);
}
