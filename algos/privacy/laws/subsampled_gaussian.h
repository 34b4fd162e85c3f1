/* One step of DP-SGD as outcomes: the Poisson-subsampled Gaussian. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_SUBSAMPLED_GAUSSIAN_H
#define TACET_ALGOS_PRIVACY_LAWS_SUBSAMPLED_GAUSSIAN_H

#include <stdbool.h>

#include "algos/privacy/laws/pld.h"

/* The dominating pair of add-or-remove-one (Zhu, Dong, Wang 2022): with the mixture
 * M = (1-q) N(0, s^2) + q N(1, s^2), removing one example is P = M, Q = N(0, s^2), adding one the
 * swapped pair. The guarantee is the worse of both. */
struct subsampled_gaussian {
    double sampling_rate;    /* q in (0, 1] */
    double noise_multiplier; /* s, standard deviation over sensitivity */
    bool add;                /* the swapped pair */
};

/* A pld_mechanism of a struct subsampled_gaussian. */
bool subsampled_gaussian_outcomes(const void *parameters, double omit, const struct pld_grid *grid,
                                  struct pld_outcomes *out);

/* In closed form: delta of epsilon and back. The relative error of both is 2e-12; of an epsilon, as
 * the delta it stands for. */

/* delta(EPSILON >= 0) of a rate q in (0, 1] and a noise multiplier s > 0, a unit removed or ADDed.
 */
double subsampled_gaussian_once_delta(double sampling_rate, double noise_multiplier, bool add,
                                      double epsilon);

/* The least epsilon >= 0 at DELTA in (0, 1). */
double subsampled_gaussian_once_epsilon(double sampling_rate, double noise_multiplier, bool add,
                                        double delta);

#endif
