/* A perceptron by its definition, in double: what the tests of this folder compare with. */
#ifndef TACET_TESTS_UNIT_NN_NETWORK_H
#define TACET_TESTS_UNIT_NN_NETWORK_H

#include "algos/nn/mlp.h"
#include "envs/rng.h"

/* Loss of one row: sum over outputs of WEIGHTS[o] * output[o]. */
double network_loss(const struct mlp_shape *shape, const float *parameters, const float *input,
                    const float *weights);

/* Fills VALUES with normal numbers times SCALE. */
void network_fill(struct rng *rng, float *values, size_t count, double scale);

#endif
