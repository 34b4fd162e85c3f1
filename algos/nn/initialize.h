/* First weights of a perceptron, from public coins. */
#ifndef TACET_ALGOS_NN_INITIALIZE_H
#define TACET_ALGOS_NN_INITIALIZE_H

#include "algos/nn/mlp.h"
#include "envs/rng.h"

/* Normal weights of standard deviation gain / sqrt(inputs), gain sqrt(2) for ReLU and 1 for tanh
 * (He et al. 2015; LeCun 1998), OUTPUT_GAIN for the last layer; biases 0. PARAMETERS
 * [mlp_parameter_count]. */
void mlp_initialize(const struct mlp_shape *shape, struct rng *rng, double output_gain,
                    float *parameters);

#endif
