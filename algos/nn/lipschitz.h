/* Certified upper bounds on how fast a network's output can change. Source of the spectral bound:
 * ||W||_2 <= trace((W'W)^p)^(1/2p) for every p; power iteration would be a lower bound, and no
 * guarantee may rest on one. */
#ifndef TACET_ALGOS_NN_LIPSCHITZ_H
#define TACET_ALGOS_NN_LIPSCHITZ_H

#include "algos/nn/mlp.h"

/* An upper bound on the spectral norm of the rows x columns row-major matrix, all rounding paid
 * for: the least of the Frobenius norm, sqrt(||W||_1 ||W||_inf) and, with G the smaller Gram
 * matrix, ||G^(2^j)||_F^(1/2^(j+1)) for j up to 8. With all eight it is within n^(1/1024) of the
 * norm, n the smaller side (256: 0.6%); matrices wider than about 700 get fewer. INFINITY when an
 * entry is not finite; negative when there is no room. A 256 x 256 matrix takes milliseconds. */
double lipschitz_spectral_norm_bound(const float *weight, size_t rows, size_t columns);

/* An upper bound on the Lipschitz constant of the whole network, 2-norm to 2-norm: the product of
 * its layers' bounds (ReLU and tanh are 1-Lipschitz; biases move nothing). Errors as above. */
double lipschitz_mlp_bound(const struct mlp_shape *shape, const float *parameters);

#endif
