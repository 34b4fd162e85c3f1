/* One Poisson-subsampled Gaussian.
 *
 * With r the likelihood ratio of the Gaussian pair, the mixture's ratio is 1 - q + q r. It exceeds
 * exp(x) where r exceeds exp(E), E = ln(1 + (exp(x) - 1) / q), so removing a unit has
 *     delta(x) = q delta_Gaussian(E).
 * It is below exp(-x) where 1/r exceeds exp(x) q / b, b = 1 - exp(x) (1 - q), so adding one has
 *     delta(x) = b delta_Gaussian(ln(exp(x) q / b)) while b > 0, else 0. */
#include "algos/privacy/laws/subsampled_gaussian_once.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/laws/gaussian_dp.h"

#define LARGE 30.0 /* exp(-LARGE) is nothing beside 1 */

static double removed_delta(double q, double mu, double x)
{
    double inner = x > LARGE ? x - log(q) : log1p(expm1(x) / q);
    return q * exp(gaussian_dp_log_delta(mu, inner));
}

static double removed_epsilon(double q, double mu, double delta)
{
    if (delta >= q)
        return 0.0;
    double inner = gaussian_dp_epsilon(mu, delta / q);
    if (inner < LARGE)
        return log1p(q * expm1(inner));
    return inner + log(q + (1.0 - q) * exp(-inner));
}

static double added_delta(double q, double mu, double x)
{
    double b = -expm1(x + log1p(-q));
    return b > 0.0 ? b * exp(gaussian_dp_log_delta(mu, fmax(0.0, x + log(q / b)))) : 0.0;
}

static double added_epsilon(double q, double mu, double delta)
{
    double low = 0, high = -log1p(-q); /* b is 0 there */
    if (added_delta(q, mu, 0.0) <= delta)
        return 0.0;
    while (high - low > 4e-16 * high) {
        double x = 0.5 * (low + high);
        if (x <= low || x >= high)
            break;
        if (added_delta(q, mu, x) <= delta)
            high = x;
        else
            low = x;
    }
    return high;
}

double subsampled_gaussian_once_delta(double sampling_rate, double noise_multiplier, bool add,
                                      double epsilon)
{
    double q = sampling_rate, mu = 1.0 / noise_multiplier;
    assert(q > 0.0 && q <= 1.0 && noise_multiplier > 0.0 && epsilon >= 0.0);
    if (q == 1.0)
        return exp(gaussian_dp_log_delta(mu, epsilon));
    return add ? added_delta(q, mu, epsilon) : removed_delta(q, mu, epsilon);
}

double subsampled_gaussian_once_epsilon(double sampling_rate, double noise_multiplier, bool add,
                                        double delta)
{
    double q = sampling_rate, mu = 1.0 / noise_multiplier;
    assert(q > 0.0 && q <= 1.0 && noise_multiplier > 0.0 && delta > 0.0 && delta < 1.0);
    if (q == 1.0)
        return gaussian_dp_epsilon(mu, delta);
    return add ? added_epsilon(q, mu, delta) : removed_epsilon(q, mu, delta);
}
