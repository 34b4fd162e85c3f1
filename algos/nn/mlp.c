/* Shapes and layout of perceptrons, and the forward of one input: no BLAS, so that its bits do not
 * depend on a library's choice of kernel. In double: mlp_double.c. */
#include "algos/nn/mlp.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/nn/matrix.h"

bool mlp_shape_valid(const struct mlp_shape *shape)
{
    if (shape->input < 1 || shape->input > MLP_MAX_WIDTH)
        return false;
    if (shape->layer_count < 1 || shape->layer_count > MLP_MAX_LAYERS)
        return false;
    for (uint32_t l = 0; l < shape->layer_count; l++)
        if (shape->width[l] < 1 || shape->width[l] > MLP_MAX_WIDTH)
            return false;
    return shape->activation == MLP_RELU || shape->activation == MLP_TANH;
}

uint32_t mlp_layer_input(const struct mlp_shape *shape, uint32_t layer)
{
    assert(layer < shape->layer_count);
    return layer == 0 ? shape->input : shape->width[layer - 1];
}

size_t mlp_weight_offset(const struct mlp_shape *shape, uint32_t layer)
{
    size_t offset = 0;
    for (uint32_t l = 0; l < layer; l++)
        offset += ((size_t)mlp_layer_input(shape, l) + 1) * shape->width[l];
    return offset;
}

size_t mlp_bias_offset(const struct mlp_shape *shape, uint32_t layer)
{
    return mlp_weight_offset(shape, layer) +
           (size_t)mlp_layer_input(shape, layer) * shape->width[layer];
}

size_t mlp_parameter_count(const struct mlp_shape *shape)
{
    return mlp_weight_offset(shape, shape->layer_count);
}

static uint32_t widest_layer(const struct mlp_shape *shape)
{
    uint32_t widest = 0;
    for (uint32_t l = 0; l < shape->layer_count; l++)
        if (shape->width[l] > widest)
            widest = shape->width[l];
    return widest;
}

size_t mlp_scratch_count(const struct mlp_shape *shape)
{
    return 2 * (size_t)widest_layer(shape);
}

void mlp_forward_one(const struct mlp_shape *shape, const float *parameters, const float *input,
                     float *output, float *scratch)
{
    uint32_t last = shape->layer_count - 1;
    float *half[2] = {scratch, scratch + widest_layer(shape)};
    const float *x = input;
    for (uint32_t l = 0; l <= last; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *weight = parameters + mlp_weight_offset(shape, l);
        const float *bias = weight + (size_t)in * out;
        float *y = l == last ? output : half[l & 1];
        matrix_times_vector(out, in, weight, x, y);
        for (uint32_t j = 0; j < out; j++)
            y[j] += bias[j];
        if (l != last && shape->activation == MLP_RELU)
            for (uint32_t j = 0; j < out; j++)
                y[j] = y[j] < 0.0F ? 0.0F : y[j];
        else if (l != last)
            for (uint32_t j = 0; j < out; j++)
                y[j] = tanhf(y[j]);
        x = y;
    }
}
