/* The value at a grid point as a combination of independent normals.
 *
 * DESIGN. Bisection goes down to the level where the point is a midpoint; its value is w (left +
 * right) + s xi. On the way back up each end of the gap is replaced by what it is made of: one of
 * the two is the midpoint of the gap above, the other is an end of it too. Two running weights, of
 * the left and of the right end, are all that is needed: linear in the depth. */
#include "algos/privacy/functions/gaussian_path_axis.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

void gaussian_path_axis_init(struct gaussian_path_axis *axis, double beta, uint32_t bits)
{
    assert(beta > 0.0 && bits >= 1 && bits <= GAUSSIAN_PATH_MAX_BITS);
    *axis = (struct gaussian_path_axis){.bits = bits};
    axis->end_weight = expl(-(long double)beta);
    axis->end_spread = sqrtl(-expm1l(-2.0L * beta));
    for (uint32_t k = 0; k < bits; k++) {
        long double half_gap = ldexpl(beta, -(int)k - 1);
        axis->weight[k] = 0.5L / coshl(half_gap);
        axis->spread[k] = sqrtl(tanhl(half_gap));
    }
}

static size_t at_an_end(const struct gaussian_path_axis *axis, bool right,
                        struct gaussian_path_node *nodes)
{
    nodes[0] = (struct gaussian_path_node){-1, 0, right ? axis->end_weight : 1.0L};
    nodes[1] = (struct gaussian_path_node){-1, 1, axis->end_spread};
    return right ? 2 : 1;
}

size_t gaussian_path_axis_nodes(const struct gaussian_path_axis *axis, uint32_t index,
                                struct gaussian_path_node nodes[GAUSSIAN_PATH_MAX_NODES])
{
    uint32_t bits = axis->bits, size = UINT32_C(1) << bits;
    assert(index <= size);
    if (index == 0 || index == size)
        return at_an_end(axis, index == size, nodes);
    int level = (int)bits - 1 - __builtin_ctz(index); /* where INDEX is a midpoint */
    size_t count = 0;
    long double left = axis->weight[level], right = left;
    nodes[count++] =
        (struct gaussian_path_node){level, index >> (bits - (uint32_t)level), axis->spread[level]};
    for (int k = level - 1; k >= 0; k--) {
        uint32_t gap = index >> (bits - (uint32_t)k); /* of length 2^-k, the one that holds INDEX */
        bool in_right_half = index >> (bits - (uint32_t)k - 1) & 1;
        long double on_midpoint = in_right_half ? left : right;
        long double share = on_midpoint * axis->weight[k];
        nodes[count++] = (struct gaussian_path_node){k, gap, on_midpoint * axis->spread[k]};
        left = in_right_half ? share : left + share;
        right = in_right_half ? right + share : share;
    }
    nodes[count++] = (struct gaussian_path_node){-1, 0, left + right * axis->end_weight};
    nodes[count++] = (struct gaussian_path_node){-1, 1, right * axis->end_spread};
    return count;
}
