/* Forward and backward of many rows; one allocation holds a whole workspace. */
#include "algos/nn/batch.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/matrix.h"

/* Rows begin on cache lines. */
static size_t padded_size(size_t floats)
{
    return (floats + 15) & ~(size_t)15;
}

size_t batch_bytes(const struct mlp_shape *shape, uint32_t capacity)
{
    assert(mlp_shape_valid(shape));
    assert(capacity > 0 && capacity <= BATCH_MAX_ROWS);
    /* At most 65536 rows x 4096 floats x 17 blocks: far below SIZE_MAX. */
    size_t floats = padded_size((size_t)capacity * shape->input);
    for (uint32_t l = 0; l < shape->layer_count; l++)
        floats += 2 * padded_size((size_t)capacity * shape->width[l]);
    return floats * sizeof(float);
}

struct batch *batch_new(const struct mlp_shape *shape, uint32_t capacity)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return NULL;
    batch->memory = calloc(1, batch_bytes(shape, capacity));
    if (!batch->memory) {
        free(batch);
        return NULL;
    }
    batch->shape = *shape;
    batch->capacity = capacity;
    float *next = batch->memory;
    batch->input = next;
    next += padded_size((size_t)capacity * shape->input);
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        size_t block = padded_size((size_t)capacity * shape->width[l]);
        batch->activation[l] = next;
        batch->error[l] = next + block;
        next += 2 * block;
    }
    return batch;
}

void batch_free(struct batch *batch)
{
    if (!batch)
        return;
    free(batch->memory);
    free(batch);
}

float *batch_input(struct batch *batch)
{
    return batch->input;
}

float *batch_output_error(struct batch *batch)
{
    return batch->error[batch->shape.layer_count - 1];
}

static void apply_tanh(float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = tanhf(y[i]);
}

const float *batch_forward(struct batch *batch, const float *parameters, uint32_t rows)
{
    assert(rows <= batch->capacity);
    const struct mlp_shape *shape = &batch->shape;
    uint32_t last = shape->layer_count - 1;
    const float *x = batch->input;
    for (uint32_t l = 0; l <= last; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *weight = parameters + mlp_weight_offset(shape, l);
        const struct matrix_finish finish = {.bias = weight + (size_t)in * out,
                                             .rectify = l != last && shape->activation == MLP_RELU};
        float *y = batch->activation[l];
        matrix_times_transposed(rows, in, out, x, weight, y, &finish);
        if (l != last && shape->activation == MLP_TANH)
            apply_tanh(y, (size_t)rows * out);
        x = y;
    }
    return x;
}

/* error *= the slope of tanh, told from its output. */
static void apply_tanh_slope(const float *restrict output, float *restrict error, size_t count)
{
    for (size_t i = 0; i < count; i++)
        error[i] *= 1.0F - output[i] * output[i];
}

void batch_backward(struct batch *batch, const float *parameters, uint32_t rows)
{
    assert(rows <= batch->capacity);
    const struct mlp_shape *shape = &batch->shape;
    for (uint32_t l = shape->layer_count - 1; l > 0; l--) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *weight = parameters + mlp_weight_offset(shape, l);
        const float *output = batch->activation[l - 1];
        bool relu = shape->activation == MLP_RELU;
        const struct matrix_finish finish = {.where = relu ? output : NULL};
        matrix_times(rows, out, in, batch->error[l], weight, batch->error[l - 1], &finish);
        if (!relu)
            apply_tanh_slope(output, batch->error[l - 1], (size_t)rows * in);
    }
}

static void add_rows(const float *restrict rows_of, uint32_t rows, uint32_t width,
                     float *restrict sum)
{
    for (uint32_t i = 0; i < rows; i++) {
        const float *restrict row = rows_of + (size_t)i * width;
        for (uint32_t j = 0; j < width; j++)
            sum[j] += row[j];
    }
}

static void sum_gradient(const struct batch *batch, uint32_t rows, float *gradient, bool add)
{
    assert(rows <= batch->capacity);
    const struct mlp_shape *shape = &batch->shape;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *x = l == 0 ? batch->input : batch->activation[l - 1];
        float *weight = gradient + mlp_weight_offset(shape, l);
        float *bias = weight + (size_t)in * out;
        matrix_transposed_times(out, rows, in, batch->error[l], x, weight, add);
        if (!add)
            memset(bias, 0, out * sizeof *bias);
        add_rows(batch->error[l], rows, out, bias);
    }
}

void batch_gradient_add(const struct batch *batch, uint32_t rows, float *gradient)
{
    sum_gradient(batch, rows, gradient, true);
}

void batch_gradient(const struct batch *batch, uint32_t rows, float *gradient)
{
    sum_gradient(batch, rows, gradient, false);
}
