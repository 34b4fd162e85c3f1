/* The norm that Gaussian-process noise protects: of the kernel exp(-beta |x - y|)'s space on [0,
 * 1], ||f||^2 = (f(0)^2 + f(1)^2) / 2 + (1 / (2 beta)) integral of f'^2 + beta^2 f^2. */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PROCESS_NORM_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PROCESS_NORM_H

#include <stddef.h>

/* The square of the norm that the values F at X[count] (increasing, count >= 1) alone already have:
 * f' K^-1 f = f_0^2 + sum (f_i - rho_i f_(i-1))^2 / (1 - rho_i^2), rho = exp(-beta gap). It is what
 * a reader of these points could exploit; a lower bound of any function through them, and its limit
 * as the points grow dense. */
double gaussian_process_norm_squared(double beta, const double *x, const double *f, size_t count);

/* The greatest square of the norm of a function with |f| <= amplitude and |f(x) - f(y)| <= slope
 * |x - y|: amplitude^2 (1 + beta / 2) + slope^2 / (2 beta), which a zig-zag attains. */
double gaussian_process_class_norm_squared(double beta, double amplitude, double slope);

#endif
