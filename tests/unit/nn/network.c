/* A perceptron by its definition. */
#include "network.h"

#include <math.h>
#include <string.h>

double network_loss(const struct mlp_shape *shape, const float *parameters, const float *input,
                    const float *weights)
{
    double x[256], y[256];
    for (uint32_t i = 0; i < shape->input; i++)
        x[i] = input[i];
    size_t at = 0;
    uint32_t in = shape->input;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t out = shape->width[l];
        for (uint32_t j = 0; j < out; j++) {
            y[j] = parameters[at + (size_t)in * out + j];
            for (uint32_t i = 0; i < in; i++)
                y[j] += parameters[at + (size_t)j * in + i] * x[i];
            if (l + 1 < shape->layer_count)
                y[j] = shape->activation == MLP_TANH ? tanh(y[j]) : fmax(y[j], 0.0);
        }
        memcpy(x, y, out * sizeof *y);
        at += ((size_t)in + 1) * out;
        in = out;
    }
    double loss = 0.0;
    for (uint32_t j = 0; j < in; j++)
        loss += weights[j] * x[j];
    return loss;
}

void network_fill(struct rng *rng, float *values, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(scale * rng_normal(rng));
}
