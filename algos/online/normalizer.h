/* The mean and deviation of observed numbers, which make a network's inputs of order one. A network
 * that was trained on such inputs can be changed to read the plain numbers. */
#ifndef TACET_ALGOS_ONLINE_NORMALIZER_H
#define TACET_ALGOS_ONLINE_NORMALIZER_H

#include <stddef.h>
#include <stdint.h>

#include "algos/nn/mlp.h"
#include "envs/env.h"

/* Deviations below this count as this, so that a number that has hardly varied yet is not blown up
 * when it does vary. The worlds' observations are of order one. */
#define NORMALIZER_LEAST_DEVIATION 0.01

/* Plain data, so that a checkpoint may hold it. All zero: nothing observed, nothing changed. */
struct normalizer {
    double count;
    double mean[ENV_MAX_STATE_DIM];
    double squares[ENV_MAX_STATE_DIM]; /* sums of squared differences from the mean */
};

/* Adds COUNT rows of DIM <= ENV_MAX_STATE_DIM numbers to the statistics. */
void normalizer_see(struct normalizer *normalizer, uint32_t dim, const float *rows, size_t count);

/* Adds one number X, in double, because sums of rewards span many orders of size. */
void normalizer_see_one(struct normalizer *normalizer, double x);

/* The deviation of number K, at least NORMALIZER_LEAST_DEVIATION; 1 before two rows were seen. */
double normalizer_deviation(const struct normalizer *normalizer, uint32_t k);

/* Writes out[count x dim] = (row - mean) / deviation; the rows as they are before two rows were
 * seen. */
void normalizer_apply(const struct normalizer *normalizer, uint32_t dim, const float *rows,
                      size_t count, float *out);

/* Changes PARAMETERS (of SHAPE) of a network of normalised inputs into those of the network of
 * plain inputs with the same outputs: W' = W / deviation, b' = b - W mean / deviation. */
void normalizer_fold(const struct normalizer *normalizer, const struct mlp_shape *shape,
                     float *parameters);

#endif
