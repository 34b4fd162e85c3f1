/* Exact (but for floating point) delta of epsilon, and epsilon of delta, of composed privacy
 * losses, by contour integration of their moment generating function. Tens of microseconds and
 * about 12 digits where the loss has a density that many runs have smoothed; it certifies nothing
 * and is never charged. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_CONTOUR_H
#define TACET_ALGOS_PRIVACY_LAWS_CONTOUR_H

#include <stddef.h>

#include "algos/privacy/laws/contour_law.h"

/* delta(epsilon) = E_P[(1 - exp(epsilon - L))^+], L the sum of LAWS[count], each run its times,
 * count >= 1. Any finite real epsilon. OUT_OF_REACH when the integral does not settle: few runs,
 * or no density at all (points.h has those as finite sums). */
enum contour_status contour_delta(const struct contour_law *laws, size_t count, double epsilon,
                                  double *out);

/* The least epsilon >= 0 with delta(epsilon) <= DELTA in (0, 1); INFINITY: there is none. */
enum contour_status contour_epsilon(const struct contour_law *laws, size_t count, double delta,
                                    double *out);

/* Bounds from above (but for rounding) without any line: a Renyi divergence at about its best
 * order, converted. They always answer: 1, or INFINITY, at worst. */
double contour_delta_bound(const struct contour_law *laws, size_t count, double epsilon);

/* Bounds epsilon at DELTA in (0, 1) in the same way. */
double contour_epsilon_bound(const struct contour_law *laws, size_t count, double delta);

#endif
