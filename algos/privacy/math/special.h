/* Special functions that libm lacks. */
#ifndef TACET_ALGOS_PRIVACY_MATH_SPECIAL_H
#define TACET_ALGOS_PRIVACY_MATH_SPECIAL_H

/* ln Gamma(x) for x > 0; unlike lgamma it writes no global, so threads may share it. */
double special_log_gamma(double x);

/* psi'(x), the second derivative of ln Gamma, for x > 0; relative error below 1e-14. Recurrence up
 * to 15, then the asymptotic series (Abramowitz and Stegun 6.4.12). */
double special_trigamma(double x);

/* The regularised incomplete beta function, which is the law of one Dirichlet component: I_x(a, b)
 * = P(Beta(a, b) <= x) for a, b > 0 and x in [0, 1]. Continued fraction (Abramowitz and
 * Stegun 26.5.8) by Lentz's algorithm; relative error about 1e-13 for a, b up to 1e5. */
double incomplete_beta(double a, double b, double x);

/* The continued fraction alone: I_x(a, b) = x^a (1 - x)^b / (a B(a, b)) times it, for x below
 * (a + 1) / (a + b + 2); for callers that know the factor in front better. */
double incomplete_beta_fraction(double a, double b, double x);

#endif
