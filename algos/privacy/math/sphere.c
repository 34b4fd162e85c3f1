/* Spherical caps by the incomplete beta function.
 *
 * DESIGN. With a = (dimension - 1)/2 and t >= 0, P(U1 >= t) = I_x(a, 1/2)/2 at x = 1 - t^2: the
 * continued fraction of I_x where it converges fast, else that of 1 - I_x. The front factor
 * needs Gamma(a + 1/2)/Gamma(a), whose logarithm as a difference of two would lose all digits of a
 * million dimensions: it is stepped up to 20 and taken from its asymptotic series. None of this has
 * a proven error; what privacy rests on is sphere_tail_least, which has. */
#include "algos/privacy/math/sphere.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/math/special.h"

#define SQRT_PI  1.7724538509055160273
#define CHORDS   4096
#define ROUNDING 1e-10 /* many times what rounding can do to a bound */

static double half_dimension(uint32_t dimension)
{
    assert(dimension >= 2 && dimension <= 1u << 24);
    return 0.5 * (dimension - 1.0);
}

/* Gamma(a + 1/2)/Gamma(a); Tricomi and Erdelyi 1951, first terms exact to 1e-17 from 20 on. */
static double gamma_ratio(double a)
{
    double product = 1.0;
    for (; a < 20.0; a += 1.0)
        product *= a / (a + 0.5);
    double y = 1.0 / (a * a);
    double series =
        -1.0 / 8 + y * (1.0 / 192 + y * (-1.0 / 640 + y * (17.0 / 14336 - y * 31.0 / 18432)));
    return product * sqrt(a) * exp(series / a);
}

/* log(1 - t^2), accurate at both ends. */
static double log_complement(double t)
{
    return fabs(t) < 0.5 ? log1p(-t * t) : log((1.0 - t) * (1.0 + t));
}

static double upper_tail(uint32_t dimension, double t)
{
    double a = half_dimension(dimension), square = t * t, x = (1.0 - t) * (1.0 + t);
    if (t >= 1.0)
        return 0.0;
    double front = exp(a * log_complement(t)) * t * gamma_ratio(a) / SQRT_PI;
    if (x < (a + 1.0) / (a + 2.5))
        return 0.5 * front * incomplete_beta_fraction(a, 0.5, x) / a;
    return 0.5 - front * incomplete_beta_fraction(0.5, a, square);
}

double sphere_tail(uint32_t dimension, double t)
{
    assert(t >= -1.0 && t <= 1.0);
    return t >= 0.0 ? upper_tail(dimension, t) : 1.0 - upper_tail(dimension, -t);
}

double sphere_tail_mean(uint32_t dimension, double t)
{
    double a = half_dimension(dimension);
    assert(t >= -1.0 && t <= 1.0);
    return exp(a * log_complement(t)) * gamma_ratio(a) / (SQRT_PI * 2.0 * a);
}

double sphere_tail_square(uint32_t dimension, double t)
{
    /* By parts: E[U1^2; U1 >= t] (1 + 1/(d-1)) = t E[U1; U1 >= t] + P(U1 >= t)/(d-1). */
    return ((dimension - 1.0) * t * sphere_tail_mean(dimension, t) + sphere_tail(dimension, t)) /
           dimension;
}

/* Gamma(a + 1/2)/Gamma(a) from below, by 1e-8 at most: stepped up as above, then Watson 1959:
 * it is above sqrt(a - 1/4). */
static double gamma_ratio_least(double a)
{
    double product = 1.0;
    for (; a < 2048.0; a += 1.0)
        product *= a / (a + 0.5);
    return product * sqrt(a - 0.25);
}

/* The integral of (1 - u^2)^k from t to 1 over its value at t, k >= 1/2, from below: the logarithm
 * of the integrand is concave, so it lies above its chords; and what is beyond a factor of e^-40 is
 * left out. */
static double tail_integral_least(double k, double t)
{
    double start = k * log_complement(t), low = t, high = 1.0, sum = 0.0, before = 0.0;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (k * log_complement(middle) < start - 40.0)
            high = middle;
        else
            low = middle;
    }
    double step = (low - t) / CHORDS;
    for (int i = 1; i < CHORDS; i++) {
        double log_here = k * log_complement(t + i * step) - start, fall = before - log_here;
        if (fall > 1e-6)
            sum += exp(before) * -expm1(-fall) / fall;
        else
            sum += exp(log_here);
        before = log_here;
    }
    return sum * step;
}

double sphere_tail_least(uint32_t dimension, double t)
{
    double a = half_dimension(dimension), least;
    assert(t >= 0.0 && t <= 1.0);
    if (dimension == 2)
        least = acos(t) / M_PI;
    else if (dimension == 3)
        least = 0.5 * (1.0 - t);
    else
        least = tail_integral_least(a - 1.0, t) * exp((a - 1.0) * log_complement(t)) *
                gamma_ratio_least(a) / SQRT_PI;
    return least * (1.0 - ROUNDING);
}
