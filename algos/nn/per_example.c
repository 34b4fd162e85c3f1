/* Ghost norms and clip factors. Norms are summed in double: a float sum over 512 numbers could be
 * 3e-5 short, and the clip bound is a privacy guarantee. */
#include "algos/nn/per_example.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Room for the rounding of the factor, of the scaled errors and of the product that follows: a few
 * units of 2^-24 each. */
#define ROUNDING_MARGIN (1.0 - 0x1p-20)

/* Room for the rounding of scaled errors in a group whose rows cancel, for each row, in a squared
 * norm: each row's rounding is up to 2^-24 of a norm that may be the whole group's. */
#define GROUP_MARGIN 0x1p-22

/* Scaled errors smaller than 1e-38 round by up to 2^-150 each, and a product multiplies that by an
 * activation. Within these two bounds it stays below 1e-29 of the gradient; beyond them an example
 * contributes nothing, which depends on it alone. */
#define LARGEST_SQUARED_INPUT  1e30
#define LARGEST_NORM_OVER_CLIP 1e20

double per_example_inner_product(const float *a, const float *b, uint32_t count)
{
    double lane[8] = {0};
    uint32_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (uint32_t j = 0; j < 8; j++)
            lane[j] += (double)a[k + j] * (double)b[k + j];
    double sum = 0.0;
    for (; k < count; k++)
        sum += (double)a[k] * (double)b[k];
    for (uint32_t j = 0; j < 8; j++)
        sum += lane[j];
    return sum;
}

static double squared_length(const float *v, uint32_t count)
{
    return per_example_inner_product(v, v, count);
}

void per_example_squared_norm_add(const struct batch *batch, uint32_t rows, double *squared_norm)
{
    assert(rows <= batch->capacity);
    const struct mlp_shape *shape = &batch->shape;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *input = l == 0 ? batch->input : batch->activation[l - 1];
        for (uint32_t i = 0; i < rows; i++) {
            double a = squared_length(input + (size_t)i * in, in);
            double d = squared_length(batch->error[l] + (size_t)i * out, out);
            squared_norm[i] += a <= LARGEST_SQUARED_INPUT ? d * (a + 1.0) : INFINITY;
        }
    }
}

/* Twice the inner products of ROW's gradient with those of its group's rows before it, from FIRST
 * on. */
static double cross_terms(const struct batch *batch, uint32_t first, uint32_t row)
{
    const struct mlp_shape *shape = &batch->shape;
    double sum = 0.0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *input = l == 0 ? batch->input : batch->activation[l - 1];
        const float *error = batch->error[l];
        for (uint32_t j = first; j < row; j++)
            sum +=
                per_example_inner_product(error + (size_t)row * out, error + (size_t)j * out, out) *
                (per_example_inner_product(input + (size_t)row * in, input + (size_t)j * in, in) +
                 1.0);
    }
    return 2.0 * sum;
}

void per_example_group_squared_norm(const struct batch *batch, uint32_t rows, uint32_t group,
                                    double *squared_norm)
{
    assert(group > 0 && rows % group == 0);
    memset(squared_norm, 0, rows * sizeof *squared_norm);
    per_example_squared_norm_add(batch, rows, squared_norm);
    for (uint32_t first = 0; group > 1 && first < rows; first += group) {
        double sum = 0.0, most = 0.0;
        for (uint32_t i = first; i < first + group; i++) {
            sum += squared_norm[i] + cross_terms(batch, first, i);
            most = fmax(most, squared_norm[i]);
        }
        /* What cancels leaves an error that is small beside the largest row. NaN stays. */
        double norm = (sum <= most ? most : sum) * (1.0 + group * GROUP_MARGIN);
        for (uint32_t i = first; i < first + group; i++)
            squared_norm[i] = norm;
    }
}

void per_example_factors(const double *squared_norm, uint32_t rows, double clip_norm, float *factor)
{
    assert(isfinite(clip_norm) && clip_norm > 0.0);
    for (uint32_t i = 0; i < rows; i++) {
        double norm = sqrt(squared_norm[i]);
        if (!(norm <= LARGEST_NORM_OVER_CLIP * clip_norm))
            factor[i] = 0.0F;
        else if (norm <= clip_norm * ROUNDING_MARGIN)
            factor[i] = 1.0F;
        else
            factor[i] = (float)(clip_norm / norm * ROUNDING_MARGIN);
    }
}

static void scale_row(float *row, uint32_t width, float factor)
{
    for (uint32_t j = 0; j < width; j++)
        row[j] *= factor;
}

/* Zero times NaN is NaN, so a dropped row is overwritten, inputs too. */
static void drop_row(struct batch *batch, uint32_t row)
{
    const struct mlp_shape *shape = &batch->shape;
    memset(batch->input + (size_t)row * shape->input, 0, shape->input * sizeof(float));
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        size_t offset = (size_t)row * shape->width[l], size = shape->width[l] * sizeof(float);
        memset(batch->activation[l] + offset, 0, size);
        memset(batch->error[l] + offset, 0, size);
    }
}

void per_example_scale(struct batch *batch, uint32_t rows, const float *factor)
{
    assert(rows <= batch->capacity);
    const struct mlp_shape *shape = &batch->shape;
    for (uint32_t i = 0; i < rows; i++) {
        if (factor[i] == 1.0F)
            continue;
        if (factor[i] == 0.0F) {
            drop_row(batch, i);
            continue;
        }
        for (uint32_t l = 0; l < shape->layer_count; l++)
            scale_row(batch->error[l] + (size_t)i * shape->width[l], shape->width[l], factor[i]);
    }
}
