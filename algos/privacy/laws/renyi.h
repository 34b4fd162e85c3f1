/* Renyi accounting at one order, and the Renyi curve of the subsampled Gaussian. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_RENYI_H
#define TACET_ALGOS_PRIVACY_LAWS_RENYI_H

#include <stdint.h>

/* Epsilon at DELTA of a total Renyi divergence RHO of ORDER > 1:
 * rho + ln(1 - 1/order) - (ln delta + ln order) / (order - 1), never below 0 (Canonne, Kamath,
 * Steinke 2020, Prop. 12). */
double renyi_to_epsilon(double order, double rho, double delta);

/* The largest RHO that converts to at most EPSILON at DELTA; negative when even 0 does not fit. */
double renyi_budget(double order, double epsilon, double delta);

/* Renyi divergence of ORDER > 1 (integer or not) of the Poisson-subsampled Gaussian, both
 * directions, the worse (Mironov, Talwar, Zhang 2019). Rounded up; INFINITY where it overflows. */
double renyi_subsampled_gaussian(double sampling_rate, double noise_multiplier, double order);

/* What computing it takes, in the steps of math/work.h. */
double renyi_subsampled_gaussian_steps(double sampling_rate, double noise_multiplier, double order);

#endif
