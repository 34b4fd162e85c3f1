/* The law of one coordinate U1 of a uniform point on the unit sphere of R^dimension: caps, their
 * moments, and a bound. (1 + U1)/2 is Beta((dimension - 1)/2, (dimension - 1)/2). */
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

/* A proven lower bound of P(U1 >= t), t >= 0, below it by a part of 1e-5 at most where P is above
 * 1e-25. It rests on the C library's exp and log being right to a few units in the last place. */
double sphere_tail_least(uint32_t dimension, double t);

#endif
