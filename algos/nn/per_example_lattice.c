/* One row of a weight at a time: its numbers for all examples are added up in 32 bits, which stay
 * in the first cache, and then go to the sum. */
#include "algos/nn/per_example_lattice.h"

#include <assert.h>
#include <string.h>

/* Examples whose numbers, each at most PER_EXAMPLE_LATTICE_MAX, fit into 32 bits together. */
enum { EXAMPLES_AT_ONCE = 1024 };

/* sum += trunc(scale x), |scale x| below 2^31 */
static void add_truncated(int32_t *restrict sum, const float *restrict x, uint32_t count,
                          float scale)
{
    for (uint32_t k = 0; k < count; k++)
        sum[k] += (int32_t)(scale * x[k]);
}

/* Row OUTPUT of LAYER's weight, and its bias, over examples FIRST .. LAST. */
static void add_output(const struct batch *batch, uint32_t layer, uint32_t output, uint32_t first,
                       uint32_t last, const float *factor, float steps_per_unit, int64_t *sum)
{
    const struct mlp_shape *shape = &batch->shape;
    uint32_t in = mlp_layer_input(shape, layer), out = shape->width[layer];
    const float *x = layer == 0 ? batch->input : batch->activation[layer - 1];
    int32_t part[MLP_MAX_WIDTH], bias = 0;
    memset(part, 0, in * sizeof *part);
    for (uint32_t i = first; i < last; i++) {
        float error = batch->error[layer][(size_t)i * out + output];
        if (factor[i] == 0.0F || error == 0.0F)
            continue;
        float scale = error * factor[i] * steps_per_unit;
        add_truncated(part, x + (size_t)i * in, in, scale);
        bias += (int32_t)scale;
    }
    int64_t *weight = sum + mlp_weight_offset(shape, layer) + (size_t)output * in;
    for (uint32_t k = 0; k < in; k++)
        weight[k] += part[k];
    sum[mlp_bias_offset(shape, layer) + output] += bias;
}

void per_example_lattice_add(const struct batch *batch, uint32_t rows, const float *factor,
                             float steps_per_unit, int64_t *sum)
{
    assert(rows <= batch->capacity && steps_per_unit > 0.0F);
    const struct mlp_shape *shape = &batch->shape;
    for (uint32_t first = 0; first < rows; first += EXAMPLES_AT_ONCE) {
        uint32_t last = rows - first < EXAMPLES_AT_ONCE ? rows : first + EXAMPLES_AT_ONCE;
        for (uint32_t l = 0; l < shape->layer_count; l++)
            for (uint32_t j = 0; j < shape->width[l]; j++)
                add_output(batch, l, j, first, last, factor, steps_per_unit, sum);
    }
}
