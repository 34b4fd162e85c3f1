/* The law of one coordinate U1 of a uniform point on the unit sphere of R^dimension: caps, their
 * moments, and the inverse. (1 + U1)/2 is Beta((dimension - 1)/2, (dimension - 1)/2). */
#ifndef TACET_ALGOS_PRIVACY_MATH_SPHERE_H
#define TACET_ALGOS_PRIVACY_MATH_SPHERE_H

#include <stdint.h>

/* In all of them dimension is from 2 to 2^24 and t in [-1, 1]. */

/* P(U1 >= t); relative error below 1e-10 (1e-12 up to 10^4 dimensions) where it is at least 1e-100.
 */
double sphere_tail(uint32_t dimension, double t);

/* E[U1; U1 >= t]. */
double sphere_tail_mean(uint32_t dimension, double t);

/* E[U1^2; U1 >= t]. */
double sphere_tail_square(uint32_t dimension, double t);

/* The t with P(U1 >= t) = p, p in (0, 1/2]. */
double sphere_tail_inverse(uint32_t dimension, double p);

#endif
