/* Orthogonal first weights (Saxe, McClelland and Ganguli 2014), from public coins. */
#ifndef TACET_ALGOS_ONLINE_ORTHOGONAL_H
#define TACET_ALGOS_ONLINE_ORTHOGONAL_H

#include "algos/nn/mlp.h"
#include "envs/rng.h"

/* Each weight matrix gets orthonormal rows (or columns, if it has more rows than columns) times
 * HIDDEN_GAIN, the last layer's times OUTPUT_GAIN; biases 0. PARAMETERS[mlp_parameter_count]. */
void orthogonal_initialize(const struct mlp_shape *shape, struct rng *rng, double hidden_gain,
                           double output_gain, float *parameters);

#endif
