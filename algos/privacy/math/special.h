/* Special functions that libm lacks. */
#ifndef TACET_ALGOS_PRIVACY_MATH_SPECIAL_H
#define TACET_ALGOS_PRIVACY_MATH_SPECIAL_H

/* ln Gamma(x) for x > 0; unlike lgamma it writes no global, so threads may share it. */
double special_log_gamma(double x);

/* psi'(x), the second derivative of ln Gamma, for x > 0; relative error below 1e-14. Recurrence up
 * to 15, then the asymptotic series (Abramowitz and Stegun 6.4.12). */
double special_trigamma(double x);

#endif
