/* Rejection under a log-concave law.
 *
 * DESIGN. With L(n) = ln P(n) + constant and M near the mode, a proposal M + J, J discrete Laplace
 * of scale T, is accepted with probability exp(L(M + J) - L(M) + |J| / T - TOP). L is concave, so
 * the exponent without TOP is concave on either side of M: its greatest value is found where the
 * ratio of neighbouring probabilities, a rational number, crosses exp(-1 / T). TOP is above it by
 * SLACK, which only costs a few tries; so no exponent is positive.
 *
 * Proposals and coins are exact. The law drawn is then proportional to exp of the L that was
 * computed: if that errs by at most e (an error common to all n has no effect), each probability is
 * right to the factor exp(+-2e).
 *
 * The error of L. ln Gamma(x + a) - ln Gamma(x + 1) is taken by Stirling's series as
 *   (a - 1) ln(x + 1) + (x + a - 1/2) ln(1 + (a - 1)/(x + 1)) - (a - 1) + s(x + a) - s(x + 1)
 * for x >= 16, where nothing is larger than (a - 1) (28 + 2 ln(1 + a)); what s leaves out is below
 * 691 / (360360 17^11) < 2^-53. Below 16 a product of 16 quotients comes first. Each term has at
 * most 16 roundings of 2^-53. For both shapes together less than 2^-49 (A + B + 10) (31 + 2 ln(1 +
 * A + B)). A shape that is off by d moves ln P by at most d (1 + ln(1 + TRIALS)) < 29 d. */
#include "algos/privacy/noise/noise_beta_binomial.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "algos/privacy/noise/noise_discrete.h"
#include "algos/privacy/noise/noise_source.h"

#define SHIFT 16
#define SLACK 1e-3 /* greater than the error of L for all allowed shapes */

/* ln Gamma(y) - (y - 1/2) ln y + y - ln(2 pi) / 2, for y >= 17. */
static double stirling_rest(double y)
{
    double s = 1.0 / (y * y);
    return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / y;
}

/* ln (Gamma(X + A) / Gamma(X + 1)), X whole. */
static double log_gamma_step(double a, double x)
{
    double first = 1.0;
    if (x < SHIFT) {
        for (int i = 0; i < SHIFT; i++)
            first *= (x + i + 1.0) / (x + i + a);
        x += SHIFT;
    }
    double more = a - 1.0;
    double ratio = more * log(x + 1.0) + (x + a - 0.5) * log1p(more / (x + 1.0)) - more;
    return ratio + (stirling_rest(x + a) - stirling_rest(x + 1.0)) + log(first);
}

double noise_beta_binomial_log(double trials, double a, double b, double n)
{
    return log_gamma_step(a, n) + log_gamma_step(b, trials - n);
}

/* The N from MIDDLE on where L(N) + (N - MIDDLE) / SCALE is greatest: P(n + 1) / P(n) is
 * (n + a)(trials - n) / ((n + 1)(trials - n - 1 + b)), falls, and equals exp(-1 / SCALE) at a root
 * of a quadratic. For a great SCALE the root may be rounded: L hardly changes there. */
static double tilted_peak(double trials, double a, double b, double middle, double scale)
{
    double fall = -expm1(-1.0 / scale);
    double half = 0.5 * (fall * (trials + 1.0) - (a - 1.0) - (1.0 - fall) * (b - 1.0));
    double last = (a - 1.0) * (trials + 1.0), root = sqrt(half * half + fall * last);
    double near = floor(half > 0.0 ? (half + root) / fall : last / (root - half + DBL_MIN));
    double low = fmin(fmax(middle, near - 3.0), trials);
    double high = fmax(low, fmin(trials, near + 3.0));
    while (low < high) {
        double n = floor(0.5 * (low + high));
        if ((a - 1.0) / (n + 1.0) + fall >= (1.0 - fall) * (b - 1.0) / (trials - n))
            low = n + 1.0;
        else
            high = n;
    }
    return low;
}

uint64_t noise_beta_binomial(struct noise_source *source, uint64_t trials, double a, double b)
{
    assert(a >= 1.0 && b >= 1.0 && a + b <= NOISE_BETA_BINOMIAL_SHAPE * (1.0 + 1e-9));
    assert(trials <= NOISE_BETA_BINOMIAL_TRIALS);
    double count = (double)trials, shapes = a + b;
    double variance = count * a / shapes * b / shapes * ((shapes + count) / (shapes + 1.0));
    double scale = ceil(sqrt(variance)) + 1.0; /* not below that of a geometric tail */
    double middle = floor(count * (shapes > 2.0 ? (a - 1.0) / (shapes - 2.0) : 0.5));
    double there = noise_beta_binomial_log(count, a, b, middle);
    double right = tilted_peak(count, a, b, middle, scale);
    double left = count - tilted_peak(count, b, a, count - middle, scale);
    double top = fmax(noise_beta_binomial_log(count, a, b, right) + (right - middle) / scale,
                      noise_beta_binomial_log(count, a, b, left) + (middle - left) / scale) -
                 there + SLACK;
    for (;;) {
        double away = (double)noise_discrete_laplace(source, (uint64_t)scale, 1);
        double n = middle + away;
        if (n < 0.0 || n > count)
            continue;
        double exponent =
            top - (noise_beta_binomial_log(count, a, b, n) - there) - fabs(away) / scale;
        assert(exponent >= 0.0);
        if (noise_exp_coin(source, exponent))
            return (uint64_t)n;
    }
}

double noise_beta_binomial_error(double shapes)
{
    double of_l = 0x1p-49 * (shapes + 10.0) * (31.0 + 2.0 * log1p(shapes));
    return 2.0 * of_l + 29.0 * (0x1p-49 * shapes + 2e-12);
}
