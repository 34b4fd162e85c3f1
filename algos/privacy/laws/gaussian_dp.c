/* The hockey-stick divergence of two normals.
 *
 * DESIGN. With a = e/mu - mu/2, b = a + mu, the normal density phi and Mills' ratio
 * R(x) = Int_0^inf exp(-x t - t^2/2) dt, delta = phi(a) (R(a) - R(b)), as exp(e) phi(b) = phi(a).
 * For mu <= 1 the difference is one integral of a positive function,
 *     R(a) - R(b) = Int exp(-a t - t^2/2) (1 - exp(-mu t)) dt,
 * which has no cancellation however small mu is; Gauss-Legendre panels give 1e-15. Where a is far
 * below 0 delta is near 1 and its formula is safe as it stands. Inverses are bisections that
 * Newton's method hastens, on ln delta. */
#include "algos/privacy/laws/gaussian_dp.h"

#include <assert.h>
#include <math.h>

#define LOG_ROOT_2PI 0.91893853320467274178
#define PANELS       16
#define LAST_TERM    76.0 /* exp(-LAST_TERM / 2) is nothing */

/* Int_0^inf exp(-a t - t^2/2) (1 - exp(-mu t)) dt for a > -1.5; MU infinite: R(a). */
static double tail_integral(double a, double mu)
{
    static const double node[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                   0.9602898564975363};
    static const double weight[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                     0.1012285362903763};
    double end = sqrt(a * a + LAST_TERM) - a, half = 0.5 * end / PANELS, sum = 0;
    if (a > 0.0) /* the same without cancellation */
        half = 0.5 * LAST_TERM / (sqrt(a * a + LAST_TERM) + a) / PANELS;
    for (int panel = 0; panel < PANELS; panel++)
        for (int k = 0; k < 8; k++) {
            double x = k % 2 ? node[k / 2] : -node[k / 2];
            double t = half * (2.0 * panel + 1.0 + x);
            double gap = isinf(mu) ? 1.0 : -expm1(-mu * t);
            sum += weight[k / 2] * exp(-t * (a + 0.5 * t)) * gap;
        }
    return sum * half;
}

double gaussian_dp_log_delta(double mu, double epsilon)
{
    assert(mu > 0.0 && epsilon >= 0.0);
    double a = epsilon / mu - 0.5 * mu, b = epsilon / mu + 0.5 * mu;
    if (isinf(a))
        return -INFINITY;
    if (a <= -1.0) {
        double below = exp(epsilon) * 0.5 * erfc(b * M_SQRT1_2);
        if (!(epsilon < 700.0)) /* exp(e) phi(b) R(b) = phi(a) R(b) */
            below = exp(-0.5 * a * a - LOG_ROOT_2PI) * tail_integral(b, INFINITY);
        return log1p(-0.5 * erfc(-a * M_SQRT1_2) - below);
    }
    double difference =
        mu <= 1.0 ? tail_integral(a, mu) : tail_integral(a, INFINITY) - tail_integral(b, INFINITY);
    return -0.5 * a * a - LOG_ROOT_2PI + log(difference);
}

/* d ln delta / d epsilon, negative. */
static double delta_slope(double mu, double epsilon, double log_delta)
{
    double a = epsilon / mu - 0.5 * mu, b = epsilon / mu + 0.5 * mu;
    return -exp(-0.5 * a * a - LOG_ROOT_2PI - log_delta) * tail_integral(b, INFINITY);
}

double gaussian_dp_epsilon(double mu, double delta)
{
    assert(mu > 0.0 && delta > 0.0 && delta < 1.0);
    double target = log(delta);
    if (gaussian_dp_log_delta(mu, 0.0) <= target)
        return 0.0;
    /* delta(e) <= P(L > e) <= exp(-a^2 / 2) */
    double low = 0.0, high = mu * (0.5 * mu + sqrt(-2.0 * target)), epsilon = high;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double now = gaussian_dp_log_delta(mu, epsilon);
        if (now <= target)
            high = epsilon;
        else
            low = epsilon;
        double next = epsilon - (now - target) / delta_slope(mu, epsilon, now);
        if (fabs(next - epsilon) <= 2e-16 * epsilon)
            return epsilon;
        epsilon = next > low && next < high ? next : 0.5 * (low + high);
    }
    return high;
}

double gaussian_dp_mu_for(double epsilon, double delta)
{
    assert(epsilon >= 0.0 && isfinite(epsilon) && delta > 0.0 && delta < 1.0);
    double target = log(delta);
    /* delta grows in mu; P(L > e) <= delta suffices and gives the lower end. */
    double root = sqrt(-2.0 * target),
           low = 2.0 * epsilon / (root + sqrt(root * root + 2.0 * epsilon));
    low = fmax(fmin(low, delta), 1e-300);
    double high = low;
    while (gaussian_dp_log_delta(high, epsilon) <= target) {
        low = high;
        high *= 2.0;
    }
    double mu = high;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double now = gaussian_dp_log_delta(mu, epsilon);
        if (now <= target)
            low = mu;
        else
            high = mu;
        /* d delta / d mu = phi(a) */
        double a = epsilon / mu - 0.5 * mu;
        double next = mu - (now - target) / exp(-0.5 * a * a - LOG_ROOT_2PI - now);
        if (fabs(next - mu) <= 2e-16 * mu)
            return mu;
        mu = next > low && next < high ? next : 0.5 * (low + high);
    }
    return low;
}

double gaussian_dp_sigma(double sensitivity, double epsilon, double delta)
{
    assert(sensitivity > 0.0);
    return sensitivity / gaussian_dp_mu_for(epsilon, delta) * (1.0 + GAUSSIAN_DP_ERROR);
}

double gaussian_dp_mu(const struct composition *composition)
{
    double square = 0;
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        if (mechanism->kind != MECHANISM_SUBSAMPLED_GAUSSIAN ||
            mechanism->gaussian.sampling_rate != 1.0)
            return NAN;
        double s = mechanism->gaussian.noise_multiplier;
        square += (double)composition->part[i].times / s / s;
    }
    return composition->count ? sqrt(square) : NAN;
}

/* Rounding of the exponent a^2/2, that sums of a thousand parts may have put into mu, and that of
 * the quadrature; relative, of delta. */
static double error_of(double mu, double epsilon)
{
    double a = epsilon / mu - 0.5 * mu;
    return GAUSSIAN_DP_ERROR + 1e-15 * a * a;
}

struct privacy_interval gaussian_dp_delta_interval(double mu, double epsilon)
{
    double over = mu * (1.0 + GAUSSIAN_DP_ERROR), under = mu * (1.0 - GAUSSIAN_DP_ERROR);
    double error = error_of(mu, epsilon);
    return (struct privacy_interval){
        .lower = exp(gaussian_dp_log_delta(under, epsilon)) * (1.0 - fmin(error, 1.0)),
        .upper = fmin(1.0, exp(gaussian_dp_log_delta(over, epsilon)) * (1.0 + error) + 1e-300)};
}

struct privacy_interval gaussian_dp_epsilon_interval(double mu, double delta)
{
    double over = mu * (1.0 + GAUSSIAN_DP_ERROR), under = mu * (1.0 - GAUSSIAN_DP_ERROR);
    double guess = gaussian_dp_epsilon(mu, delta), error = error_of(mu, guess);
    return (struct privacy_interval){
        .lower =
            gaussian_dp_epsilon(under, fmin(delta * (1.0 + error), 1.0 - 1e-16)) * (1.0 - 1e-15),
        .upper = gaussian_dp_epsilon(over, delta * (1.0 - fmin(error, 0.5))) * (1.0 + 1e-15)};
}
