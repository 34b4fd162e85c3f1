/* Gaussian differential privacy: N(0, 1) against N(mu, 1), in closed form. Gaussian releases with
 * sensitivity over standard deviation mu_i compose to mu^2 = sum mu_i^2, adaptively too (Dong,
 * Roth, Su 2022, Cor. 3.3). */
#ifndef TACET_ALGOS_PRIVACY_LAWS_GAUSSIAN_DP_H
#define TACET_ALGOS_PRIVACY_LAWS_GAUSSIAN_DP_H

#include "algos/privacy/laws/mechanism.h"
#include "algos/privacy/math/interval.h"

/* Every figure below lies within this, relatively, of the true one: of delta, of mu and sigma; and
 * of epsilon as the delta it stands for. Quadrature 1e-15, the exponent's rounding the rest. */
#define GAUSSIAN_DP_ERROR 1e-12

/* ln delta(epsilon), delta = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) (Balle and Wang 2018,
 * Theorem 8), for mu > 0 and any epsilon >= 0; accurate in the far tail too, where delta itself is
 * below the least double. */
double gaussian_dp_log_delta(double mu, double epsilon);

/* The least epsilon >= 0 that mu > 0 buys at DELTA in (0, 1). */
double gaussian_dp_epsilon(double mu, double delta);

/* The largest mu that is (epsilon >= 0, delta in (0, 1))-private. */
double gaussian_dp_mu_for(double epsilon, double delta);

/* The least standard deviation of noise, rounded up by GAUSSIAN_DP_ERROR, that makes a release of
 * 2-norm SENSITIVITY > 0 (epsilon, delta)-private: the analytic Gaussian mechanism. */
double gaussian_dp_sigma(double sensitivity, double epsilon, double delta);

/* The mu of COMPOSITION if all its parts are plain Gaussians; else, or if it is empty, NaN. */
double gaussian_dp_mu(const struct composition *composition);

/* Certified intervals: the figures above, widened by GAUSSIAN_DP_ERROR in mu and in delta. */
struct privacy_interval gaussian_dp_epsilon_interval(double mu, double delta);

/* Certified bounds of delta at EPSILON, both roundings paid for. */
struct privacy_interval gaussian_dp_delta_interval(double mu, double epsilon);

#endif
