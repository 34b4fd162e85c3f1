/* The certified Renyi price of the Dirichlet mechanism.
 *
 * Names are those of docs/proofs/dirichlet.md: k concentration, eta least probability, X = 1 - m
 * eta, De = min(Delta + m 2^-50, sqrt(2) X) the largest 2-norm change, Di = min(De sqrt((m-1)/m),
 * X) the largest change of one coordinate. Every price is a combination of ln Gamma that nearly
 * cancels when Di is small; what rounding may have taken is added, so the price stays an upper
 * bound. */
#include "algos/privacy/laws/dirichlet.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "algos/privacy/math/special.h"

/* Times the actions: how much farther dirichlet_mix's rounding moves neighbours apart. Each of both
 * moves by half a unit in every coordinate and by half a unit for each action in one. */
#define DIRICHLET_LATTICE 0x1p-50
#define LOG_GAMMA_ERROR   2e-15 /* relative, of libm's ln Gamma (4 ulp), with a margin */

const char *dirichlet_problem(const struct dirichlet *d)
{
    if (d->actions < 2 || d->actions > DIRICHLET_MAX_ACTIONS)
        return "the number of actions must be from 2 to 64";
    if (!(d->min_probability > 1e-9 && d->min_probability * d->actions < 1.0 - 1e-9))
        return "min_probability must be above 0 and below 1 / actions";
    if (!(d->concentration * d->min_probability >= 1.0 - 1e-12 && d->concentration <= 1e9))
        return "concentration must be at least 1 / min_probability (less costs the same and says "
               "less) and at most 1e9";
    if (!(d->sensitivity > 0.0 && isfinite(d->sensitivity)))
        return "sensitivity must be positive and finite";
    return NULL;
}

#define LEAST_DOWN    1e-6 /* of X: below, hd(y) <= t y^2 serves */
#define DESCENT_SLACK 1e-3

struct shift {
    double k, eta, x, de, di;
    uint32_t m;
};

static struct shift shift_of(const struct dirichlet *d)
{
    double m = d->actions, x = 1.0 - m * d->min_probability;
    double de = fmin(d->sensitivity + DIRICHLET_LATTICE * m, M_SQRT2 * x);
    double di = fmin(de * sqrt((m - 1.0) / m), x);
    return (struct shift){d->concentration, d->min_probability, x, de, di, d->actions};
}

double dirichlet_order_limit(const struct dirichlet *mechanism)
{
    return 1.0 + mechanism->min_probability / shift_of(mechanism).di;
}

/* The Jensen gap of ln Gamma between coordinates a (of P) and b (of Q), divided by order - 1:
 *   [lG(l a - (l-1) b) - l lG(a) + (l-1) lG(b)] / (l - 1),
 * rounded up. Never above (l/2) (a-b)^2 psi'(least argument), which does not cancel. */
static double gamma_gap(double l, double a, double b)
{
    double c = l * a - (l - 1.0) * b;
    if (c <= 0.0)
        return INFINITY;
    double gc = special_log_gamma(c), ga = special_log_gamma(a), gb = special_log_gamma(b);
    double size = fabs(gc) + l * fabs(ga) + (l - 1.0) * fabs(gb);
    /* The arguments are rounded too: each moves ln Gamma by its slope, at most ln + 1/argument. */
    double slope = fabs(log(c)) + 1.0 / c + fabs(log(a)) + 1.0 / a + fabs(log(b)) + 1.0 / b;
    double rounding = LOG_GAMMA_ERROR * (size + l * slope * (l * a + (l - 1.0) * b));
    double direct = (gc - l * ga + (l - 1.0) * gb + rounding) / (l - 1.0);
    double least = fmin(c, fmin(a, b));
    double taylor = 0.5 * l * (a - b) * (a - b) * special_trigamma(least) * (1.0 + 1e-12);
    return fmin(direct, taylor);
}

/* Two actions: one number describes the shift, so the worst pair of neighbours lies at an end of
 * the interval (docs/proofs/dirichlet.md). */
static double two_actions(const struct shift *s, double l)
{
    double low = s->k * s->eta, low2 = s->k * (s->eta + s->di);
    double high = s->k * (1.0 - s->eta), high2 = s->k * (1.0 - s->eta - s->di);
    double forward = gamma_gap(l, low, low2) + gamma_gap(l, high, high2);
    double back = gamma_gap(l, low2, low) + gamma_gap(l, high2, high);
    return fmax(forward, back);
}

/* hd(y): the gap of a coordinate that falls by y, from eta + y to eta. */
static double gap_down(const struct shift *s, double l, double y)
{
    return gamma_gap(l, s->k * (s->eta + y), s->k * s->eta);
}

/* The search for the greatest hd(y)/y over 0 < y <= X. */
struct descent {
    const struct shift *shift;
    double order;
    double seen;  /* greatest value met: a lower bound */
    double bound; /* the certified upper bound so far */
};

/* Bounds hd(y)/y for y in [LOW, HIGH], where hd is LEFT at LOW and RIGHT at HIGH. hd grows and
 * hd(y)/y^2 falls, so a pair of ends bounds all between. */
static void bound_between(struct descent *d, double low, double left, double high, double right)
{
    double most = fmin(right / low, left / (low * low) * high);
    if (most <= d->seen * (1.0 + DESCENT_SLACK) || high < low * (1.0 + DESCENT_SLACK)) {
        d->bound = fmax(d->bound, most);
        return;
    }
    double middle = sqrt(low * high), there = gap_down(d->shift, d->order, middle);
    d->seen = fmax(d->seen, there / middle);
    bound_between(d, low, left, middle, there);
    bound_between(d, middle, there, high, right);
}

/* An upper bound of hd(y)/y, at most two thousandths too large. For y below the places that
 * steep_somewhere looked at, the bound is T y. SEEN is the result of steep_somewhere. */
static double steepest_down(const struct shift *s, double l, double t, double seen)
{
    struct descent d = {.shift = s, .order = l, .seen = seen};
    double high = s->x, right = gap_down(s, l, high);
    while (high > LEAST_DOWN * s->x) {
        double low = 0.5 * high, left = gap_down(s, l, low);
        bound_between(&d, low, left, high, right);
        high = low;
        right = left;
    }
    return fmax(d.bound, t * high);
}

/* A lower bound of max hd(y)/y: its greatest value at a few places. */
static double steep_somewhere(const struct shift *s, double l)
{
    double best = 0;
    for (double y = s->x; y > LEAST_DOWN * s->x; y *= 0.5)
        best = fmax(best, gap_down(s, l, y) / y);
    return best;
}

double dirichlet_renyi_bound(const struct dirichlet *mechanism, double order)
{
    /* The bound holds for any concentration; dirichlet_problem refuses those that are not worth
     * it. */
    assert(mechanism->actions >= 2 && mechanism->concentration > 0.0 && order > 1.0);
    assert(mechanism->min_probability > 0.0 && mechanism->sensitivity > 0.0);
    const struct shift s = shift_of(mechanism);
    if (order >= dirichlet_order_limit(mechanism))
        return INFINITY;
    if (s.m == 2)
        return two_actions(&s, order);
    double m = s.m, l = order;
    double t = 0.5 * l * s.k * s.k * special_trigamma(s.k * s.eta) * (1.0 + 1e-12);
    double g = gamma_gap(l, s.k * s.eta, s.k * (s.eta + s.di));
    double curved = t * s.di * s.di;
    double simple = t * fmax(0.0, s.de * s.de - s.di * s.di) * (1.0 + 1e-12) + fmax(g, curved);

    double sum_max = fmin(s.x, s.de * sqrt(floor(m / 2.0) * ceil(m / 2.0) / m));
    double up = fmin(fmax(g, curved), g * fmax(1.0, sum_max / s.di));
    double steep = steep_somewhere(&s, l);
    if (up + fmin(curved, steep * sum_max) >= simple)
        return simple; /* the refinement cannot win */
    double down = fmin(curved, steepest_down(&s, l, t, steep) * sum_max);
    return fmin(simple, (up + down) * (1.0 + 1e-12));
}

/* If both laws of a pair are right to the factor exp(+-h), ORDER - 1 times their divergence grows
 * by at most (2 ORDER - 1) h. */
double dirichlet_answer_bound(const struct dirichlet *mechanism, double order)
{
    double draws = mechanism->actions - 1.0;
    double h = draws * noise_beta_binomial_error(mechanism->concentration);
    double own = (2.0 * order - 1.0) / (order - 1.0) * h;
    return (dirichlet_renyi_bound(mechanism, order) + own) * (1.0 + 1e-14);
}

double dirichlet_error_radius(const struct dirichlet *mechanism, double beta)
{
    assert(beta > 0.0 && beta < 1.0);
    double d = mechanism->actions - 1.0, t = -log(beta);
    return sqrt((d + 2.0 * sqrt(d * t) + 2.0 * t) / (4.0 * (mechanism->concentration + 1.0)));
}
