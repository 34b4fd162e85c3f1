/* First weights of a perceptron. */
#include "algos/nn/initialize.h"

#include <math.h>

void mlp_initialize(const struct mlp_shape *shape, struct rng *rng, double output_gain,
                    float *parameters)
{
    double hidden_gain = shape->activation == MLP_RELU ? sqrt(2.0) : 1.0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        size_t in = mlp_layer_input(shape, l), out = shape->width[l];
        float *weight = parameters + mlp_weight_offset(shape, l);
        double gain = l + 1 == shape->layer_count ? output_gain : hidden_gain;
        double deviation = gain / sqrt((double)in);
        for (size_t i = 0; i < in * out; i++)
            weight[i] = (float)(deviation * rng_normal(rng));
        for (size_t j = 0; j < out; j++)
            weight[in * out + j] = 0.0F;
    }
}
