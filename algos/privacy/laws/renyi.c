/* Conversions at one order, and the Renyi curve of one step of DP-SGD.
 *
 * DESIGN. With z standard normal and the loss of removal l(z) = ln(1 - q + q exp(z/s - 1/(2 s^2))),
 *     remove: (a-1) D_a = ln E exp(a l),      add: (a-1) D_a = ln E exp(-(a-1) l).
 * Both are integrals over the line of functions that are analytic in a strip, for which the
 * trapezoid rule converges exponentially: with the step below its error is far under rounding, for
 * any real order. As E (exp(l) - 1) = 0, a multiple of exp(l) - 1 is subtracted: what is summed is
 * then positive and of second order, and tiny divergences keep their relative accuracy. */
#include "algos/privacy/laws/renyi.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define TAIL          12.0   /* standard deviations on either side of the integrand's bulk */
#define MAX_POINTS    200000 /* beyond, the noise is so small that no budget pays for it */
#define STEPS_A_POINT 40     /* of some 3 ns: several exponentials and logarithms, twice */
#define ROUND_UP      (1.0 + 1e-9)

/* ln(1 - 1/order) - (ln delta + ln order) / (order - 1) */
static double renyi_conversion(double order, double delta)
{
    assert(order > 1.0 && delta > 0.0 && delta < 1.0);
    return log1p(-1.0 / order) - (log(delta) + log(order)) / (order - 1.0);
}

double renyi_to_epsilon(double order, double rho, double delta)
{
    return fmax(0.0, rho + renyi_conversion(order, delta));
}

double renyi_budget(double order, double epsilon, double delta)
{
    return epsilon - renyi_conversion(order, delta);
}

static double mixture_loss(double q, double s, double z)
{
    double t = z / s - 0.5 / (s * s);
    if (q == 1.0)
        return t;
    if (t > 30.0)
        return t + log(q + (1.0 - q) * exp(-t));
    return log1p(q * expm1(t));
}

/* The range of z. For a negative power the exponent power l - z^2/2 is concave, more so than that
 * of a normal density, with its top at z = power dl/dz. For a positive one it stays below -TAIL^2/2
 * beyond the greatest solution of z = sqrt(2 power l + TAIL^2), to which iteration descends as l
 * grows with z. Around 1/s lies the mass of exp(l). */
static void bulk_of(double q, double s, double power, double *out_low, double *out_high)
{
    double slope = q / (s * (q + (1.0 - q) * exp(0.5 / (s * s)))); /* dl/dz at 0 */
    double least = 1.0 / s + TAIL, high = fmax(power, 1.0) / s + TAIL;
    for (int i = 0; i < 60 && power > 0.0 && high > least; i++)
        high = fmin(high, sqrt(fmax(0.0, 2.0 * power * mixture_loss(q, s, high)) + TAIL * TAIL));
    *out_low = fmin(0.0, power * slope) - TAIL;
    *out_high = fmax(high, least);
}

/* The trapezoids from *OUT_LOW to *OUT_HIGH, of width *OUT_STEP; 0: too many. */
static double trapezoids_of(double q, double s, double power, double *out_low, double *out_high,
                            double *out_step)
{
    *out_step = fmin(0.1, 0.2 * s);
    bulk_of(q, s, power, out_low, out_high);
    double points = ceil((*out_high - *out_low) / *out_step);
    return points < MAX_POINTS ? points : 0.0;
}

/* ln E exp(power * l), by trapezoids; INFINITY when out of reach. */
static double mixture_log_moment(double q, double s, double power)
{
    double low, high, step, points = trapezoids_of(q, s, power, &low, &high, &step);
    if (points <= 0.0)
        return INFINITY;
    /* The integrand in logarithms decides whether the compensated sum is safe from overflow. */
    double top = -INFINITY, reach = 0;
    for (double i = 0; i <= points; i += 1.0) {
        double z = low + i * step;
        double exponent = power * mixture_loss(q, s, z);
        top = fmax(top, exponent - 0.5 * z * z);
        if (fabs(z) < 8.0)
            reach = fmax(reach, fabs(exponent));
    }
    double sum = 0, largest = fmax(power * mixture_loss(q, s, high + step), (high + step) / s);
    bool small = reach < 0.5 && top < 50.0 && largest < 600.0;
    for (double i = 0; i <= points; i += 1.0) {
        double z = low + i * step, loss = mixture_loss(q, s, z);
        if (small)
            sum += exp(-0.5 * z * z) * (expm1(power * loss) - power * expm1(loss));
        else
            sum += exp(power * loss - 0.5 * z * z - top);
    }
    sum *= step * 0.3989422804014327;
    double value = small ? log1p(sum) : top + log(sum);
    return isnan(value) ? INFINITY : value;
}

double renyi_subsampled_gaussian(double sampling_rate, double noise_multiplier, double order)
{
    double q = sampling_rate, s = noise_multiplier;
    assert(q > 0.0 && q <= 1.0 && s > 0.0 && order > 1.0);
    if (q == 1.0)
        return order / (2.0 * s * s) * ROUND_UP;
    double remove = mixture_log_moment(q, s, order), add = mixture_log_moment(q, s, -(order - 1.0));
    double divergence = fmax(remove, add) / (order - 1.0);
    return fmax(divergence, 0.0) * ROUND_UP + 1e-15 / (order - 1.0);
}

double renyi_subsampled_gaussian_steps(double sampling_rate, double noise_multiplier, double order)
{
    double q = sampling_rate, s = noise_multiplier, low, high, step;
    if (q >= 1.0)
        return 0.0;
    return STEPS_A_POINT * (trapezoids_of(q, s, order, &low, &high, &step) +
                            trapezoids_of(q, s, -(order - 1.0), &low, &high, &step));
}
