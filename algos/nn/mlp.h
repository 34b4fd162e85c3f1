/* Multi-layer perceptrons in float32: one flat vector of parameters, a forward for one and for
 * many. */
#ifndef TACET_ALGOS_NN_MLP_H
#define TACET_ALGOS_NN_MLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MLP_MAX_LAYERS 8    /* hidden and output together */
#define MLP_MAX_WIDTH  4096 /* of any layer */

enum mlp_activation { MLP_RELU, MLP_TANH };

/* The shape alone. width[layer_count - 1] is the output; activation follows every layer but the
 * last. */
struct mlp_shape {
    uint32_t input;
    uint32_t layer_count; /* 1 .. MLP_MAX_LAYERS */
    uint32_t width[MLP_MAX_LAYERS];
    enum mlp_activation activation;
};

/* True when every size is within its bounds. */
bool mlp_shape_valid(const struct mlp_shape *shape);

/* Floats in the parameter vector: for each layer its weight (out x in, row major), then its bias
 * (out). */
size_t mlp_parameter_count(const struct mlp_shape *shape);

/* Inputs of LAYER. */
uint32_t mlp_layer_input(const struct mlp_shape *shape, uint32_t layer);

/* Where LAYER's weight begins in the parameter vector. */
size_t mlp_weight_offset(const struct mlp_shape *shape, uint32_t layer);

/* Where LAYER's bias begins. */
size_t mlp_bias_offset(const struct mlp_shape *shape, uint32_t layer);

/* Output of one input, in one fixed order of operations (no BLAS): the same bits on every call and
 * machine thread. INPUT[input], OUTPUT[width of the last layer], SCRATCH[mlp_scratch_count floats].
 */
void mlp_forward_one(const struct mlp_shape *shape, const float *parameters, const float *input,
                     float *output, float *scratch);

/* Floats of scratch that mlp_forward_one needs. */
size_t mlp_scratch_count(const struct mlp_shape *shape);

/* Computes the same output in double, for results that must be as smooth as a Lipschitz bound says:
 * rounding in float moves an answer as far as a small step of its input does. */
void mlp_forward_double(const struct mlp_shape *shape, const float *parameters, const double *input,
                        double *output);

#endif
