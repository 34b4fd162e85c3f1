/* The form for several dimensions: Q_a(s) = w_a . phi(s) with public features, ||phi(s)|| <= 1. (No
 * process of finite variance hides all Lipschitz functions of two or more variables.) All actions'
 * weights together are projected into a ball, averaged over shards, and released with normal noise:
 * the "path" is that finite vector, and everything asked of it is post-processing. */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PROCESS_FEATURES_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PROCESS_FEATURES_H

#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/noise/noise.h"

/* Scales W[count] into the ball of RADIUS > 0, rounding paid for: the true norm of what is left is
 * at most RADIUS. A vector with an entry that is not finite becomes zero. */
void gaussian_features_project(double *w, size_t count, double radius);

/* How much the mean of SHARDS such vectors, summed in double in any order, can change when one
 * shard's does: 2 radius / shards and the sum's own rounding, rounded up. Whatever the number of
 * features and dimensions. */
double gaussian_features_sensitivity(double radius, uint32_t shards);

/* OUT[count] = MEAN + N(0, sigma^2) on each coordinate, drawn on a lattice (gaussian_lattice.h) and
 * shown on the public grid of gaussian_grid.h with limit RADIUS. Means of neighbours are at most
 * SENSITIVITY apart; sigma from gaussian_dp_sigma. OUT may be MEAN. */
void gaussian_features_release(struct noise_source *noise, const double *mean, size_t count,
                               double radius, double sensitivity, double sigma, double *out);

#endif
