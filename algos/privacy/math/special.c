/* ln Gamma and its second derivative. */
#include "algos/privacy/math/special.h"

#include <assert.h>
#include <math.h>

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
