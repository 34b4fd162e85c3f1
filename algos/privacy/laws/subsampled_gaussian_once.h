/* One step of DP-SGD in closed form: delta of epsilon and back. Pairs and neighbours as in
 * subsampled_gaussian.h. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_SUBSAMPLED_GAUSSIAN_ONCE_H
#define TACET_ALGOS_PRIVACY_LAWS_SUBSAMPLED_GAUSSIAN_ONCE_H

#include <stdbool.h>

/* Relative error of both; of an epsilon, as the delta it stands for. */
#define SUBSAMPLED_GAUSSIAN_ONCE_ERROR 2e-12

/* delta(EPSILON >= 0) of a rate q in (0, 1] and a noise multiplier s > 0, a unit removed or ADDed.
 */
double subsampled_gaussian_once_delta(double sampling_rate, double noise_multiplier, bool add,
                                      double epsilon);

/* The least epsilon >= 0 at DELTA in (0, 1). */
double subsampled_gaussian_once_epsilon(double sampling_rate, double noise_multiplier, bool add,
                                        double delta);

#endif
