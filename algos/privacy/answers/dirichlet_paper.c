/* The paper's figures, for comparison.
 *
 * DESIGN of the exact delta. At a vertex the answer is Dir(s, ..., s, v): m - 1 components of shape
 * s = k eta and one of shape v. With F_j(t) = P(every component >= t) of the last j components,
 * normalised among themselves, taking away one component of shape s gives
 *   F_j(t) = int_t^{1-(j-1)t} beta(x; s, A_{j-1}) F_{j-1}(t/(1-x)) dx,
 * A the sum of the remaining shapes, F_2 in closed form. The integral runs over logit(x), where
 * the integrand is smooth however small s and t are, by the tanh-sinh rule; F_{j-1} is a Chebyshev
 * interpolant in ln t. */
#include "algos/privacy/answers/dirichlet_paper.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/math/incomplete_beta.h"
#include "algos/privacy/math/special.h"

#define NODES 64    /* of an interpolant */
#define REACH 3.3   /* of the tanh-sinh rule: weights beyond are below 1e-17 */
#define STEP  0.025 /* of it */

struct vertex {
    double small, large; /* shapes: m - 1 times k eta, and k (1 - (m-1) eta) */
    uint32_t m;
};

static struct vertex vertex_of(const struct dirichlet *d)
{
    double small = d->concentration * d->min_probability;
    return (struct vertex){small, d->concentration - (d->actions - 1.0) * small, d->actions};
}

/* psi(x), x > 0: recurrence up to 15, then Abramowitz and Stegun 6.3.18. */
static double digamma(double x)
{
    double sum = 0;
    for (; x < 15.0; x += 1.0)
        sum -= 1.0 / x;
    double y = 1.0 / (x * x);
    double series =
        y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132.0))));
    return sum + log(x) - 0.5 / x - series;
}

double dirichlet_paper_epsilon(const struct dirichlet *mechanism, double tau)
{
    const struct vertex v = vertex_of(mechanism);
    assert(tau > 0.0 && tau * v.m <= 1.0);
    double k = mechanism->concentration;
    double floor_term = (v.m - 1.0) * special_log_gamma(v.small) + special_log_gamma(v.large) -
                        v.m * special_log_gamma(k / v.m);
    return sqrt(v.m) * k * mechanism->sensitivity * -log(tau) + floor_term;
}

double dirichlet_paper_epsilon_corrected(const struct dirichlet *mechanism, double tau)
{
    const struct vertex v = vertex_of(mechanism);
    assert(tau > 0.0 && tau * v.m <= 1.0);
    double range = log((1.0 - (v.m - 1.0) * tau) / tau) + digamma(v.large) - digamma(v.small);
    return 0.5 * sqrt(v.m) * mechanism->concentration * mechanism->sensitivity * range;
}

struct privacy_interval dirichlet_paper_delta_bracket(const struct dirichlet *mechanism, double tau)
{
    const struct vertex v = vertex_of(mechanism);
    assert(tau > 0.0 && tau * v.m < 1.0);
    double k = mechanism->concentration;
    double low = incomplete_beta(v.small, k - v.small, tau);
    double high = incomplete_beta(v.large, k - v.large, tau);
    double none = (v.m - 1.0) * log1p(-low) + log1p(-high);
    return (struct privacy_interval){-expm1(none), fmin(1.0, (v.m - 1.0) * low + high)};
}

/* ---- the exact delta */

/* F_j over [ln low, ln(1/j)] in Chebyshev coefficients; J = 2 needs none. */
struct survival {
    const struct vertex *vertex;
    uint32_t components;
    double low, high;
    double coefficient[NODES];
};

static double survival_at(const struct survival *f, double t)
{
    if (t * f->components >= 1.0)
        return 0.0;
    if (f->components == 2) {
        double s = f->vertex->small, l = f->vertex->large;
        return 1.0 - incomplete_beta(s, l, t) - incomplete_beta(l, s, t);
    }
    double x = (2.0 * log(t) - f->low - f->high) / (f->high - f->low);
    double next = 0, after = 0; /* Clenshaw's recurrence */
    for (int i = NODES - 1; i > 0; i--) {
        double now = 2.0 * x * next - after + f->coefficient[i];
        after = next;
        next = now;
    }
    return x * next - after + f->coefficient[0];
}

/* F_j(t), j = REST's components + 1, from REST = F_{j-1}. */
static double integrate(const struct survival *rest, double t)
{
    const struct vertex *v = rest->vertex;
    double others = rest->components;
    double top = 1.0 - others * t;
    if (top <= t)
        return 0.0;
    double shape = v->large + (others - 1.0) * v->small;
    double log_beta = special_log_gamma(v->small) + special_log_gamma(shape) -
                      special_log_gamma(v->small + shape);
    double low = log(t) - log1p(-t), high = log(top) - log(others * t);
    double middle = 0.5 * (low + high), half = 0.5 * (high - low), sum = 0;
    int points = (int)(REACH / STEP);
    for (int i = -points; i <= points; i++) {
        double u = i * STEP, arc = M_PI_2 * sinh(u);
        double y = middle + half * tanh(arc);
        double weight = half * M_PI_2 * cosh(u) / (cosh(arc) * cosh(arc));
        double log_x = -log1p(exp(-y)), log_rest = -log1p(exp(y)); /* ln x and ln(1 - x) */
        double density = exp(v->small * log_x + shape * log_rest - log_beta);
        sum += weight * density * survival_at(rest, t * exp(-log_rest));
    }
    return sum * STEP;
}

/* *OUT = F_j on the interval that F_{j+1} will ask about. */
static void tabulate(const struct survival *rest, double least, struct survival *out)
{
    double value[NODES];
    *out = (struct survival){.vertex = rest->vertex,
                             .components = rest->components + 1,
                             .low = log(least),
                             .high = -log(rest->components + 1.0)};
    for (int i = 0; i < NODES; i++) {
        double x = cos(M_PI * (i + 0.5) / NODES);
        value[i] = integrate(rest, exp(0.5 * (out->low + out->high + x * (out->high - out->low))));
    }
    for (int j = 0; j < NODES; j++) {
        double sum = 0;
        for (int i = 0; i < NODES; i++)
            sum += value[i] * cos(M_PI * j * (i + 0.5) / NODES);
        out->coefficient[j] = sum * (j ? 2.0 : 1.0) / NODES;
    }
}

double dirichlet_paper_delta(const struct dirichlet *mechanism, double tau)
{
    const struct vertex v = vertex_of(mechanism);
    assert(v.m >= 2 && v.m <= DIRICHLET_MAX_ACTIONS && tau > 0.0 && tau * v.m < 1.0);
    struct survival now = {.vertex = &v, .components = 2}, next;
    if (v.m == 2)
        return 1.0 - survival_at(&now, tau);
    while (now.components < v.m - 1) {
        tabulate(&now, tau, &next);
        now = next;
    }
    return 1.0 - integrate(&now, tau);
}

double dirichlet_paper_tau(const struct dirichlet *mechanism, double delta)
{
    assert(delta > 0.0 && delta < 1.0);
    double low = log(1e-300), high = log((1.0 - 1e-9) / mechanism->actions);
    if (dirichlet_paper_delta_bracket(mechanism, exp(low)).upper > delta)
        return 0.0;
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high);
        if (dirichlet_paper_delta_bracket(mechanism, exp(middle)).upper > delta)
            high = middle;
        else
            low = middle;
    }
    return exp(low);
}

double dirichlet_paper_total(const struct dirichlet *mechanism, double answers, double delta)
{
    assert(answers >= 1.0);
    double tau = dirichlet_paper_tau(mechanism, delta / answers);
    return tau > 0.0 ? answers * dirichlet_paper_epsilon(mechanism, tau) : (double)INFINITY;
}
