/* What Gaussian noise guarantees when its deviation depends on the data: a vector f(X) is released
 * with independent normal noise of deviation sigma(X) on each of its numbers, where for neighbours
 * X and Y the distance of f(X) and f(Y) is at most mu times the smaller of sigma(X) and sigma(Y),
 * and ln sigma(X) and ln sigma(Y) differ by at most the smoothness. Noise in proportion to a smooth
 * bound of the local sensitivity is such a mechanism (Nissim, Raskhodnikova and Smith 2007). */
#ifndef TACET_BENCH_GP_SMOOTH_GAUSSIAN_H
#define TACET_BENCH_GP_SMOOTH_GAUSSIAN_H

#include <stdint.h>

#define SMOOTH_GAUSSIAN_MAX_DIMENSION 64

struct smooth_gaussian {
    double mu;          /* > 0 */
    double smoothness;  /* from 0 to 1 */
    uint32_t dimension; /* 2 .. SMOOTH_GAUSSIAN_MAX_DIMENSION */
};

/* delta(EPSILON >= 0) of the worst neighbours, in double precision, certified by nothing: the
 * greatest over both directions and nine deviations between the two extremes, at the full distance,
 * which is the worst for every pair of deviations. */
double smooth_gaussian_delta(const struct smooth_gaussian *g, double epsilon);

/* The least epsilon >= 0 at DELTA in (0, 1). */
double smooth_gaussian_epsilon(const struct smooth_gaussian *g, double delta);

/* The greatest mu that is (EPSILON > 0, DELTA)-private with that smoothness and dimension; 0: the
 * smoothness alone costs more. */
double smooth_gaussian_mu_for(double smoothness, uint32_t dimension, double epsilon, double delta);

/* The constants that Balle, Gomrokchi and Precup 2016 take from Nissim, Raskhodnikova and Smith for
 * (EPSILON, DELTA)-privacy: mu = 1 / alpha, alpha = 5 sqrt(2 ln(2 / delta)) / epsilon. They take
 * the root of a maximum that falls as exp(-beta k), beta = epsilon / (4 (dimension + ln(2 /
 * delta))), so the smoothness is beta / 2. */
struct smooth_gaussian smooth_gaussian_published(double epsilon, double delta, uint32_t dimension);

#endif
