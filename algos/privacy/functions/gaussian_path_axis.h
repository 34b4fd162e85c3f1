/* One axis of the stateless path: which nodes of the dyadic tree a grid point rests on, and with
 * which weights. Unit variance; numbers only, no randomness. Source: recursive midpoint bisection
 * of the stationary Ornstein-Uhlenbeck bridge. */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PATH_AXIS_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PATH_AXIS_H

#include <stddef.h>
#include <stdint.h>

#define GAUSSIAN_PATH_MAX_BITS  24
#define GAUSSIAN_PATH_MAX_NODES (GAUSSIAN_PATH_MAX_BITS + 2)

/* The process of kernel exp(-beta |x - y|) at the points i / 2^bits. Midpoint of a gap of length
 * 2 d: weight 1 / (2 cosh(beta d)) on either side, standard deviation sqrt(tanh(beta d)). */
struct gaussian_path_axis {
    uint32_t bits;
    long double end_weight, end_spread; /* of the value at 1 given the value at 0 */
    long double weight[GAUSSIAN_PATH_MAX_BITS], spread[GAUSSIAN_PATH_MAX_BITS]; /* by level */
};

/* The weights and spreads of a path with kernel exp(-BETA |x - y|) and 2^BITS steps. */
void gaussian_path_axis_init(struct gaussian_path_axis *axis, double beta, uint32_t bits);

/* A node: LEVEL -1 holds the ends (index 0: x = 0, index 1: x = 1), level k the 2^k midpoints
 * (2 index + 1) / 2^(k+1). A node's name does not depend on the number of bits. */
struct gaussian_path_node {
    int32_t level;
    uint32_t index;
    long double coefficient;
};

/* The value at INDEX / 2^bits (0 <= index <= 2^bits) is the sum of coefficient times the node's
 * standard normal over the NODES written, deepest first; gives how many: at most bits + 2. */
size_t gaussian_path_axis_nodes(const struct gaussian_path_axis *axis, uint32_t index,
                                struct gaussian_path_node nodes[GAUSSIAN_PATH_MAX_NODES]);

#endif
