/* Ghost norms and clipped sums against gradients that are made one example at a time. */
#include "algos/nn/per_example.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

static const struct mlp_shape shape = {
    .input = 5, .layer_count = 3, .width = {40, 24, 3}, .activation = MLP_RELU};
enum { ROWS = 29, OUTPUTS = 3 };

struct fixture {
    size_t count;
    float *parameters, *gradient;
    float inputs[ROWS * 5], errors[ROWS * OUTPUTS];
    struct batch *batch;
    double squared_norm[ROWS];
    float factor[ROWS];
};

/* Rows differ in size by powers of ten, so that some are clipped and some are not. */
static void setup(struct fixture *f)
{
    struct rng rng;
    rng_seed(&rng, 8, 0);
    memset(f, 0, sizeof *f);
    f->count = mlp_parameter_count(&shape);
    f->parameters = malloc(f->count * sizeof *f->parameters);
    f->gradient = calloc(f->count, sizeof *f->gradient);
    f->batch = batch_new(&shape, ROWS);
    cr_assert(f->parameters && f->gradient && f->batch);
    network_fill(&rng, f->parameters, f->count, 0.3);
    network_fill(&rng, f->inputs, ROWS * 5, 1.0);
    for (int i = 0; i < ROWS; i++)
        network_fill(&rng, f->errors + i * OUTPUTS, OUTPUTS, pow(10.0, i % 5 - 3));
}

static void teardown(struct fixture *f)
{
    free(f->parameters);
    free(f->gradient);
    batch_free(f->batch);
}

static void run_backward(struct fixture *f, struct batch *batch, const float *inputs,
                         const float *errors, uint32_t rows)
{
    memcpy(batch_input(batch), inputs, rows * shape.input * sizeof *inputs);
    (void)batch_forward(batch, f->parameters, rows);
    memcpy(batch_output_error(batch), errors, rows * OUTPUTS * sizeof *errors);
    batch_backward(batch, f->parameters, rows);
}

/* The gradient of example I alone, and its norm. */
static double explicit_gradient(struct fixture *f, int i, float *gradient)
{
    struct batch *one = batch_new(&shape, 1);
    cr_assert_not_null(one);
    memset(gradient, 0, f->count * sizeof *gradient);
    run_backward(f, one, f->inputs + i * 5, f->errors + i * OUTPUTS, 1);
    batch_gradient_add(one, 1, gradient);
    batch_free(one);
    double sum = 0.0;
    for (size_t p = 0; p < f->count; p++)
        sum += (double)gradient[p] * gradient[p];
    return sqrt(sum);
}

static void clip_all(struct fixture *f, double clip_norm)
{
    run_backward(f, f->batch, f->inputs, f->errors, ROWS);
    memset(f->squared_norm, 0, sizeof f->squared_norm);
    per_example_squared_norm_add(f->batch, ROWS, f->squared_norm);
    per_example_factors(f->squared_norm, ROWS, clip_norm, f->factor);
    per_example_scale(f->batch, ROWS, f->factor);
    memset(f->gradient, 0, f->count * sizeof *f->gradient);
    batch_gradient_add(f->batch, ROWS, f->gradient);
}

Test(per_example, ghost_norm_is_the_norm_of_the_examples_gradient)
{
    struct fixture f;
    setup(&f);
    run_backward(&f, f.batch, f.inputs, f.errors, ROWS);
    per_example_squared_norm_add(f.batch, ROWS, f.squared_norm);
    float *gradient = malloc(f.count * sizeof *gradient);
    cr_assert_not_null(gradient);
    for (int i = 0; i < ROWS; i++) {
        double norm = explicit_gradient(&f, i, gradient);
        cr_assert_lt(fabs(sqrt(f.squared_norm[i]) - norm), 1e-5 * norm);
    }
    free(gradient);
    teardown(&f);
}

Test(per_example, clipped_sum_is_the_sum_of_clipped_gradients)
{
    const double clip_norm = 0.7;
    struct fixture f;
    setup(&f);
    clip_all(&f, clip_norm);
    double *sum = calloc(f.count, sizeof *sum);
    float *gradient = malloc(f.count * sizeof *gradient);
    cr_assert(sum && gradient);
    int clipped = 0;
    for (int i = 0; i < ROWS; i++) {
        double norm = explicit_gradient(&f, i, gradient);
        clipped += norm > clip_norm;
        for (size_t p = 0; p < f.count; p++)
            sum[p] += gradient[p] * fmin(1.0, clip_norm / norm);
    }
    cr_assert(clipped > 3 && clipped < ROWS - 3, "%d of %d rows are clipped", clipped, ROWS);
    for (size_t p = 0; p < f.count; p++)
        cr_assert_lt(fabs(f.gradient[p] - sum[p]), 1e-4);
    free(gradient);
    free(sum);
    teardown(&f);
}

Test(per_example, one_examples_share_never_exceeds_the_clip_norm)
{
    const double clip_norm = 0.01;
    struct fixture f;
    setup(&f);
    for (int i = 0; i < ROWS; i++) {
        run_backward(&f, f.batch, f.inputs + i * 5, f.errors + i * OUTPUTS, 1);
        f.squared_norm[0] = 0.0;
        per_example_squared_norm_add(f.batch, 1, f.squared_norm);
        per_example_factors(f.squared_norm, 1, clip_norm, f.factor);
        per_example_scale(f.batch, 1, f.factor);
        memset(f.gradient, 0, f.count * sizeof *f.gradient);
        batch_gradient_add(f.batch, 1, f.gradient);
        double sum = 0.0;
        for (size_t p = 0; p < f.count; p++)
            sum += (double)f.gradient[p] * f.gradient[p];
        cr_assert_leq(sqrt(sum), clip_norm);
        if (sqrt(f.squared_norm[0]) > clip_norm)
            cr_assert_geq(sqrt(sum), 0.999 * clip_norm);
    }
    teardown(&f);
}

Test(per_example, rows_that_are_not_finite_contribute_nothing)
{
    struct fixture f, clean;
    setup(&f);
    setup(&clean);
    f.inputs[3 * 5] = NAN;
    f.errors[7 * OUTPUTS + 1] = INFINITY;
    f.inputs[9 * 5 + 2] = INFINITY;
    f.errors[12 * OUTPUTS] = NAN;
    const int bad[] = {3, 7, 9, 12};
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++)
        memset(clean.errors + bad[b] * OUTPUTS, 0, OUTPUTS * sizeof *clean.errors);
    clip_all(&f, 0.5);
    clip_all(&clean, 0.5);
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++)
        cr_assert_eq(f.factor[bad[b]], 0.0F);
    for (size_t p = 0; p < f.count; p++) {
        cr_assert(isfinite(f.gradient[p]));
        cr_assert_lt(fabsf(f.gradient[p] - clean.gradient[p]), 1e-5F);
    }
    teardown(&f);
    teardown(&clean);
}

Test(per_example, huge_numbers_stay_within_the_clip_norm)
{
    struct fixture f;
    setup(&f);
    for (int i = 0; i < 5; i++)
        f.inputs[i] = 3e38F;
    f.errors[0] = -1e30F;
    memset(f.errors + OUTPUTS, 0, sizeof f.errors - OUTPUTS * sizeof *f.errors);
    clip_all(&f, 0.5);
    double sum = 0.0;
    for (size_t p = 0; p < f.count; p++)
        sum += (double)f.gradient[p] * f.gradient[p];
    cr_assert_leq(sqrt(sum), 0.5);
    teardown(&f);
}

Test(per_example, norms_of_two_networks_add_to_a_joint_one)
{
    struct fixture f;
    setup(&f);
    run_backward(&f, f.batch, f.inputs, f.errors, ROWS);
    double once[ROWS] = {0};
    per_example_squared_norm_add(f.batch, ROWS, once);
    per_example_squared_norm_add(f.batch, ROWS, f.squared_norm);
    per_example_squared_norm_add(f.batch, ROWS, f.squared_norm);
    for (int i = 0; i < ROWS; i++)
        cr_assert_float_eq(f.squared_norm[i], 2.0 * once[i], 1e-12 * once[i]);
    teardown(&f);
}

/* Where scaled errors would be denormal numbers they could round up, and huge activations would
 * make that more than the clip norm. What contributes at all stays within it. */
Test(per_example, huge_examples_stay_within_a_tiny_clip)
{
    const double clip_norm = 1e-6;
    const float sizes[] = {1e10F, 1e14F, 1e15F, 1e20F, 1e30F, 1e37F};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct fixture f;
        setup(&f);
        for (int i = 0; i < ROWS * 5; i++)
            f.inputs[i] *= sizes[k];
        for (int row = 0; row < ROWS; row++) {
            memset(f.gradient, 0, f.count * sizeof *f.gradient);
            f.squared_norm[0] = 0.0;
            run_backward(&f, f.batch, f.inputs + row * 5, f.errors + row * OUTPUTS, 1);
            per_example_squared_norm_add(f.batch, 1, f.squared_norm);
            per_example_factors(f.squared_norm, 1, clip_norm, f.factor);
            per_example_scale(f.batch, 1, f.factor);
            batch_gradient_add(f.batch, 1, f.gradient);
            double sum = 0.0;
            for (size_t j = 0; j < f.count; j++)
                sum += (double)f.gradient[j] * (double)f.gradient[j];
            cr_expect_leq(sqrt(sum), clip_norm, "inputs of %g: %.17g", (double)sizes[k], sqrt(sum));
        }
        teardown(&f);
    }
}

/* A group's norm is that of the sum of its rows' gradients, made one by one; or the longest row's,
 * where that is more. */
Test(per_example, a_groups_norm_is_that_of_the_summed_gradients)
{
    enum { GROUP = 4, GROUPS = 7, CANCELS = 3 };
    struct fixture f;
    setup(&f);
    float *one = malloc(f.count * sizeof *one);
    double *sum = malloc(f.count * sizeof *sum);
    cr_assert(one && sum);
    for (int k = 0; k < OUTPUTS; k++) { /* two rows of this group cancel */
        float *errors = f.errors + (ptrdiff_t)CANCELS * GROUP * OUTPUTS;
        errors[OUTPUTS + k] = -errors[k];
        errors[2 * OUTPUTS + k] = errors[3 * OUTPUTS + k] = 0.0F;
    }
    memcpy(f.inputs + (CANCELS * GROUP + 1) * 5, f.inputs + CANCELS * GROUP * 5, 5 * sizeof(float));
    run_backward(&f, f.batch, f.inputs, f.errors, ROWS);
    per_example_group_squared_norm(f.batch, GROUPS * GROUP, GROUP, f.squared_norm);
    for (int g = 0; g < GROUPS; g++) {
        double longest = 0.0, square = 0.0;
        memset(sum, 0, f.count * sizeof *sum);
        for (int i = g * GROUP; i < (g + 1) * GROUP; i++) {
            longest = fmax(longest, explicit_gradient(&f, i, one));
            for (size_t p = 0; p < f.count; p++)
                sum[p] += (double)one[p];
        }
        for (size_t p = 0; p < f.count; p++)
            square += sum[p] * sum[p];
        double expected = fmax(square, longest * longest);
        cr_assert_eq(g == CANCELS, square < longest * longest * 0.5, "group %d", g);
        for (int i = g * GROUP; i < (g + 1) * GROUP; i++)
            cr_assert_float_eq(f.squared_norm[i] / expected, 1.0, 1e-5, "row %d", i);
    }
    f.squared_norm[0] = 0.0;
    f.batch->error[2][OUTPUTS + 1] = NAN; /* of row 1: its group has no norm */
    per_example_group_squared_norm(f.batch, 2 * GROUP, GROUP, f.squared_norm);
    for (int i = 0; i < 2 * GROUP; i++)
        cr_assert_eq(i < GROUP, !isfinite(f.squared_norm[i]), "row %d", i);
    free(sum);
    free(one);
    teardown(&f);
}

/* Rows that nearly cancel keep their sum's bound when each of them is rounded the worse way. */
Test(per_example, a_group_that_cancels_stays_within_the_clip_norm)
{
    enum { GROUP = 64 };
    const struct mlp_shape one = {.input = 1, .layer_count = 1, .width = {1}};
    struct batch *batch = batch_new(&one, GROUP);
    struct rng rng;
    rng_seed(&rng, 5, 0);
    for (int round = 0; round < 20000; round++) {
        double squared_norm[GROUP], sum = 0.0;
        float factor[GROUP];
        float up = (float)(1.0 + 0.9 * rng_uniform(&rng));
        float down = up * (float)(0.96 + 0.02 * rng_uniform(&rng)); /* 32 (up - down) ~ up */
        double clip = 0.2 + rng_uniform(&rng);
        for (int i = 0; i < GROUP; i++) {
            batch_input(batch)[i] = 0.0F;
            batch_output_error(batch)[i] = i % 2 == 0 ? up : -down;
        }
        per_example_group_squared_norm(batch, GROUP, GROUP, squared_norm);
        per_example_factors(squared_norm, GROUP, clip, factor);
        per_example_scale(batch, GROUP, factor);
        for (int i = 0; i < GROUP; i++)
            sum += (double)batch_output_error(batch)[i];
        cr_assert_leq(sum, clip, "round %d: longer by %g", round, sum / clip - 1.0);
    }
    batch_free(batch);
}
