/* Panels of the real line, their masses by Gauss-Legendre.
 *
 * DESIGN. The output is x = s z; z is standard normal under N(0, s^2). The loss of removal
 *     l(z) = ln(1 - q + q e^t),  t = z/s - 1/(2 s^2)
 * increases in z, so cells of the loss are intervals of z. These are cut into panels narrow enough
 * for five Gauss points to reach double precision. All masses are integrals of positive functions:
 * nothing cancels, however small the step. */
#include "algos/privacy/laws/subsampled_gaussian.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/laws/gaussian_dp.h"

#define PANEL_WIDTH     0.05  /* of z, times min(1, s): the density's and the loss's own scales */
#define NARROW          0.004 /* three points suffice below */
#define PANELS_PER_CELL 2 /* keeps most of the loss's spread inside a cell for the lower bound */

static const double POINT3[] = {-0.7745966692414834, 0.0, 0.7745966692414834};
static const double WEIGHT3[] = {0.5555555555555556, 0.8888888888888888, 0.5555555555555556};
static const double POINT5[] = {-0.9061798459386640, -0.5384693101056831, 0.0, 0.5384693101056831,
                                0.9061798459386640};
static const double WEIGHT5[] = {0.2369268850561891, 0.4786286704993665, 0.5688888888888889,
                                 0.4786286704993665, 0.2369268850561891};

static double gaussian_loss(const struct subsampled_gaussian *g, double z)
{
    double t = z / g->noise_multiplier - 0.5 / (g->noise_multiplier * g->noise_multiplier);
    if (g->sampling_rate == 1.0)
        return t;
    if (t > 30.0)
        return t + log(g->sampling_rate + (1.0 - g->sampling_rate) * exp(-t));
    return log1p(g->sampling_rate * expm1(t));
}

/* Where the loss is LOSS; minus infinity when it never falls so low. */
static double outcome_place(const struct subsampled_gaussian *g, double loss)
{
    double t;
    if (g->sampling_rate == 1.0)
        t = loss;
    else if (loss > 30.0)
        t = loss + log((1.0 - (1.0 - g->sampling_rate) * exp(-loss)) / g->sampling_rate);
    else
        t = log1p(fmax(-1.0, expm1(loss) / g->sampling_rate));
    return g->noise_multiplier * t + 0.5 / g->noise_multiplier;
}

/* The panel [from, to] as one outcome: its two masses, exactly in proportion. */
static bool gaussian_add_panel(const struct subsampled_gaussian *g, double from, double to,
                               struct pld_outcomes *out)
{
    bool narrow = to - from < NARROW * fmin(1.0, g->noise_multiplier);
    int points = narrow ? 3 : 5;
    const double *point = narrow ? POINT3 : POINT5, *weight = narrow ? WEIGHT3 : WEIGHT5;
    double middle = 0.5 * (from + to), half = 0.5 * (to - from);
    double reference = gaussian_loss(g, middle);
    double center = -0.5 * middle * middle; /* the density is taken relative to the middle's */
    double mass = 0, tilted = 0;
    for (int i = 0; i < points; i++) {
        if (point[i] == 0.0) { /* the reference itself: density 1, no difference of loss */
            mass += weight[i];
            continue;
        }
        double offset = half * point[i];
        double density = weight[i] * exp(-offset * (middle + 0.5 * offset));
        mass += density;
        tilted += density * expm1(gaussian_loss(g, middle + offset) - reference);
    }
    double loss = reference + log1p(tilted / mass);
    double scale = half * 0.3989422804014327;
    double p =
        g->add ? scale * mass * exp(center) : scale * (mass + tilted) * exp(center + reference);
    return p <= 0.0 || pld_outcomes_add(out, g->add ? -loss : loss, p);
}

static double normal_tail(double z)
{
    return 0.5 * erfc(z * M_SQRT1_2);
}

/* Adds the outputs between FROM and TO, which lie in one cell. */
static bool add_cell(const struct subsampled_gaussian *g, double from, double to,
                     struct pld_outcomes *out)
{
    double width = PANEL_WIDTH * fmin(1.0, g->noise_multiplier);
    double panels = fmax(PANELS_PER_CELL, ceil((to - from) / width));
    double left = from;
    for (double i = 1.0; i <= panels; i += 1.0) {
        double right = i < panels ? from + (to - from) * (i / panels) : to;
        if (right > left && !gaussian_add_panel(g, left, right, out))
            return false;
        left = right;
    }
    return true;
}

bool subsampled_gaussian_outcomes(const void *parameters, double omit, const struct pld_grid *grid,
                                  struct pld_outcomes *out)
{
    const struct subsampled_gaussian *g = parameters;
    double s = g->noise_multiplier, q = g->sampling_rate;
    assert(s > 0.0 && q > 0.0 && q <= 1.0);
    /* Standard deviations beyond which mass is left out; 37: nothing a double could hold. */
    double tail = fmin(fmax(sqrt(-2.0 * log(omit)), 6.0), 37.0);
    double low = -tail, high = 1.0 / s + tail;
    *out = (struct pld_outcomes){0};
    double from = low;
    for (size_t i = 0; grid && i < grid->count; i++) {
        /* Adding runs through the same places backwards, with the sign of the loss turned. */
        double loss = g->add ? -(double)grid->place[grid->count - 1 - i] : (double)grid->place[i];
        double to = fmin(outcome_place(g, loss * grid->step), high);
        if (to <= from)
            continue;
        if (!add_cell(g, from, to, out))
            return false;
        from = to;
    }
    if (from < high && !add_cell(g, from, high, out))
        return false;
    double below = g->add ? normal_tail(tail)
                          : (1.0 - q) * normal_tail(tail) + q * normal_tail(tail + 1.0 / s);
    double above =
        g->add ? normal_tail(high) : (1.0 - q) * normal_tail(high) + q * normal_tail(tail);
    out->low_mass = g->add ? above : below;
    out->high_mass = g->add ? below : above;
    if (g->add)
        pld_outcomes_reverse(out);
    return true;
}

/* ---- one step in closed form
 *
 * With r the likelihood ratio of the Gaussian pair, the mixture's ratio is 1 - q + q r. It exceeds
 * exp(x) where r exceeds exp(E), E = ln(1 + (exp(x) - 1) / q), so removing a unit has
 *     delta(x) = q delta_Gaussian(E).
 * It is below exp(-x) where 1/r exceeds exp(x) q / b, b = 1 - exp(x) (1 - q), so adding one has
 *     delta(x) = b delta_Gaussian(ln(exp(x) q / b)) while b > 0, else 0. */

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
