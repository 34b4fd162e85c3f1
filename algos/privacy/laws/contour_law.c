/* Moment generating functions in closed form.
 *
 * DESIGN. ln M is multiplied by up to 10^12 runs while the sum stays of order one, so M - 1 is
 * computed with relative accuracy: its terms of first order cancel in formula (E_P exp(-L) = 1),
 * never in arithmetic. Arguments are z = c + it with 0 < c. */
#include "algos/privacy/laws/contour_law.h"

#include <assert.h>
#include <complex.h>
#include <math.h>

#include "algos/privacy/math/special.h"

typedef double complex cplx;

#define LARGE 20.0 /* real parts beyond: exponentials are compared as logarithms */

/* exp(w) - 1 - w */
static cplx exp_beyond_linear(cplx w)
{
    if (cabs(w) > 0.5)
        return cexp(w) - 1.0 - w;
    cplx sum = 0;
    for (int k = 16; k >= 2; k--)
        sum = (1.0 + sum) * w / k;
    return sum * w;
}

/* ln(1 + m), the argument in (-pi, pi] */
static cplx log_one_plus(cplx m)
{
    double x = creal(m), y = cimag(m);
    double re = x > -0.5 && x < 0.5 ? 0.5 * log1p(x * (2.0 + x) + y * y) : log(hypot(1.0 + x, y));
    return re + I * atan2(y, 1.0 + x);
}

/* Two-point law of LOSS e: M - 1 = tanh(e/2) sinh(ze) + 2 sinh(ze/2)^2. */
static cplx points_log_moment(const struct contour_law *law, cplx z)
{
    double e = law->points.loss, moving = law->points.moving;
    cplx w = z * e;
    if (creal(w) < LARGE) {
        cplx half = csinh(0.5 * w);
        return log_one_plus(moving * (tanh(0.5 * e) * csinh(w) + 2.0 * half * half));
    }
    /* M = moving (exp(ze) + exp(-(1+z)e)) / (1 + exp(-e)) + 1 - moving */
    double log_mass = log(moving) - log1p(exp(-e));
    cplx rest = cexp(-(2.0 * w + e)) + (1.0 - moving) * cexp(-w - log_mass);
    return w + log_mass + log_one_plus(rest);
}

/* M = ((z+1) exp(ze) + z exp(-(z+1)e)) / (2z+1) */
static cplx laplace_log_moment(double e, cplx z)
{
    cplx w = z * e;
    if (creal(w) < LARGE) {
        cplx m = (z + 1.0) * exp_beyond_linear(w) + z * exp_beyond_linear(-w - e);
        return log_one_plus(m / (2.0 * z + 1.0));
    }
    return w + clog((z + 1.0 + z * cexp(-2.0 * w - e)) / (2.0 * z + 1.0));
}

/* ln Gamma for Re z > 0, off by 2 pi i times a whole number: recurrence to Re z >= 15, then
 * Stirling (Abramowitz and Stegun 6.1.41). */
static cplx log_gamma(cplx z)
{
    static const double bernoulli[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                       1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    cplx product = 1;
    double log_product = 0;
    while (creal(z) < 15.0) {
        product *= z;
        z += 1.0;
        if (cabs(product) > 1e200 || cabs(product) < 1e-200) {
            log_product += log(cabs(product));
            product /= cabs(product);
        }
    }
    cplx inverse = 1.0 / z, y = inverse * inverse, series = 0;
    for (int k = 6; k >= 0; k--)
        series = series * y + bernoulli[k];
    cplx shifted = (z - 0.5) * clog(z) - z + 0.91893853320467274178 + series * inverse;
    return shifted - clog(product) - log_product;
}

static cplx dirichlet_log_moment(const struct contour_law *law, cplx z)
{
    cplx sum = 0;
    for (uint32_t i = 0; i < law->dirichlet.count; i++) {
        double a = law->dirichlet.a[i], b = law->dirichlet.b[i];
        double ga = special_log_gamma(a), gb = special_log_gamma(b);
        sum += log_gamma(a + z * (a - b)) - ga - z * (ga - gb);
    }
    return sum;
}

static cplx closed_log_moment(const struct contour_law *law, cplx z)
{
    switch (law->kind) {
    case CONTOUR_GAUSSIAN: {
        double s = law->gaussian.noise_multiplier;
        return z * (z + 1.0) / (2.0 * s * s);
    }
    case CONTOUR_LAPLACE: return laplace_log_moment(law->laplace.epsilon, z);
    case CONTOUR_POINTS: return points_log_moment(law, z) + log1p(-law->points.infinite);
    case CONTOUR_DIRICHLET_PAIR: return dirichlet_log_moment(law, z);
    case CONTOUR_SUBSAMPLED_GAUSSIAN: break;
    }
    assert(!"a law in closed form");
    return 0;
}

double contour_law_limit(const struct contour_law *law)
{
    double limit = INFINITY;
    if (law->kind == CONTOUR_DIRICHLET_PAIR)
        for (uint32_t i = 0; i < law->dirichlet.count; i++) {
            double a = law->dirichlet.a[i], b = law->dirichlet.b[i];
            if (b > a)
                limit = fmin(limit, a / (b - a));
        }
    return limit;
}

double contour_law_greatest(const struct contour_law *law)
{
    switch (law->kind) {
    case CONTOUR_POINTS: return law->times * law->points.loss;
    case CONTOUR_LAPLACE: return law->times * law->laplace.epsilon;
    case CONTOUR_SUBSAMPLED_GAUSSIAN:
        return law->gaussian.add ? -law->times * log1p(-law->gaussian.sampling_rate) : INFINITY;
    case CONTOUR_GAUSSIAN:
    case CONTOUR_DIRICHLET_PAIR: break;
    }
    return INFINITY;
}

double contour_law_ceiling(const struct contour_law *law, double c, double t)
{
    switch (law->kind) {
    case CONTOUR_POINTS: return contour_law_log_moment(law, c);
    case CONTOUR_LAPLACE: {
        double e = law->laplace.epsilon;
        double plus = hypot(c + 1.0, t), plain = hypot(c, t), below = hypot(2.0 * c + 1.0, 2.0 * t);
        return law->times * (c * e + log((plus + plain * exp(-(2.0 * c + 1.0) * e)) / below));
    }
    case CONTOUR_GAUSSIAN:
    case CONTOUR_SUBSAMPLED_GAUSSIAN:
    case CONTOUR_DIRICHLET_PAIR: break;
    }
    return NAN;
}

double contour_law_log_moment(const struct contour_law *law, double c)
{
    assert(law->times >= 1.0 && c > 0.0);
    if (law->kind == CONTOUR_SUBSAMPLED_GAUSSIAN)
        return contour_subsampled_log_moment(law, c);
    double value = law->times * creal(closed_log_moment(law, c));
    return isnan(value) ? INFINITY : value;
}

double contour_law_cost(const struct contour_law *law, double c, double first, double last)
{
    switch (law->kind) {
    case CONTOUR_SUBSAMPLED_GAUSSIAN: return contour_subsampled_cost(law, c, first, last);
    case CONTOUR_DIRICHLET_PAIR: return 250.0 * law->dirichlet.count;
    case CONTOUR_GAUSSIAN:
    case CONTOUR_LAPLACE:
    case CONTOUR_POINTS: break;
    }
    return 100.0;
}

enum contour_status contour_law_line(const struct contour_law *law, double c, size_t first,
                                     double step, size_t count, double *re, double *im)
{
    if (law->kind == CONTOUR_SUBSAMPLED_GAUSSIAN)
        return contour_subsampled_line(law, c, first, step, count, re, im);
    for (size_t j = 0; j < count; j++) {
        cplx value = closed_log_moment(law, c + I * (step * (double)(first + j)));
        if (!isfinite(creal(value)) || !isfinite(cimag(value)))
            return CONTOUR_OUT_OF_REACH;
        re[j] += law->times * creal(value);
        im[j] += law->times * cimag(value);
    }
    return CONTOUR_OK;
}
