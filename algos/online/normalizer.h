/* Mean and deviation of what has been seen, so that a network is fed numbers of order one; and how
 * a network that was trained on such numbers is made to read the plain ones. */
#ifndef TACET_ALGOS_ONLINE_NORMALIZER_H
#define TACET_ALGOS_ONLINE_NORMALIZER_H

#include <stddef.h>
#include <stdint.h>

#include "algos/nn/mlp.h"
#include "envs/env.h"

/* A number that has hardly varied yet is not blown up when it does: deviations below this count as
 * this. The worlds' observations are of order one, or made so by the world. */
#define NORMALIZER_LEAST_DEVIATION 0.01

/* Plain data, so that a checkpoint may hold it. Zeroed: nothing seen, nothing changed. */
struct normalizer {
    double count;
    double mean[ENV_MAX_STATE_DIM];
    double squares[ENV_MAX_STATE_DIM]; /* summed, of the differences from the mean */
};

/* Takes COUNT rows of DIM <= ENV_MAX_STATE_DIM numbers into account. */
void normalizer_see(struct normalizer *normalizer, uint32_t dim, const float *rows, size_t count);

/* The same of one number, in double: sums of rewards span many orders of size. */
void normalizer_see_one(struct normalizer *normalizer, double x);

/* The deviation of number K, at least NORMALIZER_LEAST_DEVIATION; 1 before two rows were seen. */
double normalizer_deviation(const struct normalizer *normalizer, uint32_t k);

/* out[count x dim] = (row - mean) / deviation; the rows as they are before two were seen. */
void normalizer_apply(const struct normalizer *normalizer, uint32_t dim, const float *rows,
                      size_t count, float *out);

/* Changes PARAMETERS (of SHAPE) of a network of normalised inputs into those of the network of
 * plain inputs with the same outputs: W' = W / deviation, b' = b - W mean / deviation. */
void normalizer_fold(const struct normalizer *normalizer, const struct mlp_shape *shape,
                     float *parameters);

#endif
