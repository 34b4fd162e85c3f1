/* Certified upper bounds on how fast a network's output can change. */
#ifndef TACET_ALGOS_NN_LIPSCHITZ_H
#define TACET_ALGOS_NN_LIPSCHITZ_H

#include "algos/nn/mlp.h"

/* An upper bound on the spectral norm of the rows x columns row-major matrix: with G the smaller
 * Gram matrix,
 * ||W||_2 <= ||G^(2^j)||_F^(1/2^(j+1)), times (1 + 1e-10) for rounding. Power iteration would be a
 * lower bound. INFINITY when an entry is not finite; negative when memory is short. */
double lipschitz_spectral_norm_bound(const float *weight, size_t rows, size_t columns);

/* An upper bound on the Lipschitz constant of the whole network, 2-norm to 2-norm: the product of
 * its layers' bounds (ReLU and tanh are 1-Lipschitz). Errors as above. */
double lipschitz_mlp_bound(const struct mlp_shape *shape, const float *parameters);

#endif
