/* Whole-number sums of clipped gradients: their definition, their norm, and that no order shows. */
#include "algos/nn/per_example_lattice.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"
#include "algos/nn/per_example.h"

enum { ROWS = 40, IN = 5, HIDDEN = 19, OUT = 3, COUNT = (IN + 1) * HIDDEN + (HIDDEN + 1) * OUT };

static const struct mlp_shape shape = {.input = IN, .layer_count = 2, .width = {HIDDEN, OUT}};

struct fixture {
    struct batch *batch;
    float parameters[COUNT], inputs[ROWS][IN], errors[ROWS][OUT], factor[ROWS];
    double squared_norm[ROWS];
};

static void setup(struct fixture *f)
{
    struct rng rng;
    rng_seed(&rng, 6, 0);
    f->batch = batch_new(&shape, ROWS);
    cr_assert_not_null(f->batch);
    mlp_initialize(&shape, &rng, 1.0, f->parameters);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < IN; k++)
            f->inputs[i][k] = (float)(3.0 * rng_normal(&rng));
        for (int k = 0; k < OUT; k++)
            f->errors[i][k] = (float)rng_normal(&rng);
    }
}

/* The sum over the rows that ORDER names, at CLIP and SCALE. */
static void sum_of(struct fixture *f, const int *order, uint32_t rows, double clip, float scale,
                   int64_t *sum)
{
    for (uint32_t i = 0; i < rows; i++)
        memcpy(batch_input(f->batch) + i * IN, f->inputs[order[i]], sizeof f->inputs[0]);
    (void)batch_forward_fixed(f->batch, f->parameters, rows);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(batch_output_error(f->batch) + i * OUT, f->errors[order[i]], sizeof f->errors[0]);
    batch_backward_fixed(f->batch, f->parameters, rows);
    memset(f->squared_norm, 0, sizeof f->squared_norm);
    per_example_squared_norm_add(f->batch, rows, f->squared_norm);
    per_example_factors(f->squared_norm, rows, clip, f->factor);
    per_example_lattice_add(f->batch, rows, f->factor, scale, sum);
}

static void in_order(int order[ROWS])
{
    for (int i = 0; i < ROWS; i++)
        order[i] = i;
}

Test(per_example_lattice, is_the_gradient_truncated)
{
    struct fixture f;
    setup(&f);
    const float scale = 1000.0F;
    for (int row = 0; row < ROWS; row++) {
        int64_t whole[COUNT] = {0};
        float gradient[COUNT] = {0};
        sum_of(&f, &row, 1, 2.0, scale, whole);
        per_example_scale(f.batch, 1, f.factor);
        batch_gradient_add(f.batch, 1, gradient);
        for (int i = 0; i < COUNT; i++) {
            double exact = (double)gradient[i] * (double)scale;
            cr_assert_leq(fabs((double)whole[i]), fabs(exact) * (1.0 + 1e-6));
            cr_assert_gt(fabs((double)whole[i]), fabs(exact) * (1.0 - 1e-6) - 1.0);
            cr_assert(whole[i] == 0 || (whole[i] > 0) == (exact > 0.0));
        }
    }
    batch_free(f.batch);
}

Test(per_example_lattice, no_row_is_longer_than_the_clip_norm)
{
    struct fixture f;
    setup(&f);
    const double clips[] = {1e-3, 0.1, 2.0};
    const float scales[] = {10.0F, 4096.0F, 100000.0F};
    double longest = 0.0;
    for (int n = 0; n < 9; n++) {
        double clip = clips[n % 3], most = clip * (double)scales[n / 3];
        for (int row = 0; row < ROWS; row++) {
            int64_t whole[COUNT] = {0};
            double square = 0.0;
            sum_of(&f, &row, 1, clip, scales[n / 3], whole);
            for (int i = 0; i < COUNT; i++)
                square += (double)whole[i] * (double)whole[i];
            cr_assert_leq(sqrt(square), most);
            longest = fmax(longest, sqrt(square) / most);
        }
    }
    cr_assert_gt(longest, 0.999, "the clip was reached");
    batch_free(f.batch);
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
    sum_of(&f, order, ROWS, 1.0, 5000.0F, all);
    sum_of(&f, back, ROWS, 1.0, 5000.0F, reversed);
    sum_of(&f, order, 13, 1.0, 5000.0F, parts);
    sum_of(&f, order + 13, ROWS - 13, 1.0, 5000.0F, parts);
    for (int i = 0; i < ROWS; i++)
        sum_of(&f, &i, 1, 1.0, 5000.0F, single);
    cr_assert_arr_eq(all, reversed, sizeof all);
    cr_assert_arr_eq(all, parts, sizeof all);
    cr_assert_arr_eq(all, single, sizeof all);
    batch_free(f.batch);
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
    sum_of(&f, order, ROWS, 1.0, 5000.0F, whole);
    sum_of(&f, order + 3, ROWS - 3, 1.0, 5000.0F, rest);
    cr_assert_arr_eq(whole, rest, sizeof whole);
    batch_free(f.batch);
}
