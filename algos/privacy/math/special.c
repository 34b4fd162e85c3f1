/* ln Gamma, its second derivative, and I_x(a, b) by its continued fraction. */
#include "algos/privacy/math/special.h"

#include <assert.h>
#include <math.h>

#define STEPS_MAX 100000
#define TINY      1e-300 /* replaces a zero divisor (Lentz's method) */

double special_log_gamma(double x)
{
    int sign;
    assert(x > 0.0);
    return lgamma_r(x, &sign);
}

double special_trigamma(double x)
{
    assert(x > 0.0);
    double sum = 0;
    for (; x < 15.0; x += 1.0)
        sum += 1.0 / (x * x);
    double y = 1.0 / (x * x);
    /* Bernoulli numbers 1/6, -1/30, 1/42, -1/30, 5/66, -691/2730 over x^(2k+1). */
    double series =
        1.0 / 6 +
        y * (-1.0 / 30 + y * (1.0 / 42 + y * (-1.0 / 30 + y * (5.0 / 66 + y * (-691.0 / 2730)))));
    return sum + 1.0 / x + 0.5 * y + series * y / x;
}

static double or_tiny(double value)
{
    return fabs(value) < TINY ? TINY : value;
}

/* The fraction converges in O(sqrt(max(a, b))) steps for x below (a + 1) / (a + b + 2). */
double incomplete_beta_fraction(double a, double b, double x)
{
    double c = 1.0, d = 1.0 / or_tiny(1.0 - (a + b) * x / (a + 1.0)), value = d;
    for (int i = 1; i < STEPS_MAX; i++) {
        double n = i;
        double even = n * (b - n) * x / ((a + 2.0 * n - 1.0) * (a + 2.0 * n));
        d = 1.0 / or_tiny(1.0 + even * d);
        c = or_tiny(1.0 + even / c);
        value *= d * c;
        double odd = -(a + n) * (a + b + n) * x / ((a + 2.0 * n) * (a + 2.0 * n + 1.0));
        d = 1.0 / or_tiny(1.0 + odd * d);
        c = or_tiny(1.0 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1.0) < 1e-15)
            break;
    }
    return value;
}

double incomplete_beta(double a, double b, double x)
{
    assert(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0);
    if (x <= 0.0 || x >= 1.0)
        return x;
    double log_front = special_log_gamma(a + b) - special_log_gamma(a) - special_log_gamma(b) +
                       a * log(x) + b * log1p(-x);
    double front = exp(log_front);
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * incomplete_beta_fraction(a, b, x) / a;
    return 1.0 - front * incomplete_beta_fraction(b, a, 1.0 - x) / b;
}
