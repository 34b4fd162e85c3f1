/* Price, draw and projection of the Gaussian mechanism on the simplex. */
#include "algos/privacy/answers/gaussian_simplex.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "algos/privacy/noise/noise_lattice.h"

#define GRID  ((double)GAUSSIAN_SIMPLEX_GRID)
#define UP    (1.0 + 1e-14) /* pays for the rounding of a few operations */
#define Y_MAX (INT64_C(1) << 56)

const char *gaussian_simplex_problem(const struct gaussian_simplex *g)
{
    if (g->actions < 2 || g->actions > GAUSSIAN_SIMPLEX_MAX_ACTIONS)
        return "the number of actions must be from 2 to 64";
    if (!(g->sigma >= GAUSSIAN_SIMPLEX_SIGMA_MIN && g->sigma <= GAUSSIAN_SIMPLEX_SIGMA_MAX))
        return "sigma must be from 1e-4 to 1000";
    if (!(g->sensitivity > 0.0 && isfinite(g->sensitivity)))
        return "sensitivity must be positive and finite";
    return NULL;
}

/* Delta': what the lattice may add is paid. No two points of the simplex are farther apart than
 * sqrt(2). */
static double lattice_sensitivity(uint32_t actions, double sensitivity)
{
    return (fmin(sensitivity, M_SQRT2 * UP) + sqrt(actions) / GRID) * UP;
}

double gaussian_simplex_mu(const struct gaussian_simplex *mechanism)
{
    assert(!gaussian_simplex_problem(mechanism));
    return lattice_sensitivity(mechanism->actions, mechanism->sensitivity) / mechanism->sigma * UP;
}

double gaussian_simplex_renyi_bound(const struct gaussian_simplex *mechanism, double order)
{
    assert(order > 1.0);
    double mu = gaussian_simplex_mu(mechanism);
    return isfinite(order) ? 0.5 * order * mu * mu * UP : INFINITY;
}

double gaussian_simplex_sigma(uint32_t actions, double sensitivity, double queries, double mu)
{
    assert(actions >= 2 && sensitivity > 0.0 && queries >= 1.0);
    if (!(mu > 0.0))
        return INFINITY;
    return sqrt(queries) * lattice_sensitivity(actions, sensitivity) / mu * (1.0 + 1e-13);
}

/* ---- drawing */

static bool to_lattice(uint32_t actions, const double *p, int64_t *y)
{
    double sum = 0;
    for (uint32_t i = 0; i < actions; i++) {
        if (!(p[i] >= 0.0 && p[i] <= 1.0))
            return false;
        sum += p[i];
        y[i] = llrint(p[i] * GRID); /* the product is exact */
    }
    return fabs(sum - 1.0) <= 1e-9;
}

/* ORDER[i]: the coordinates from the largest down, ties by the lower number. */
static void sort_down(uint32_t actions, const int64_t *y, uint32_t *order)
{
    for (uint32_t i = 0; i < actions; i++) {
        uint32_t place = i;
        for (; place > 0 && y[order[place - 1]] < y[i]; place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
}

/* The projection is max(y - theta, 0) with theta = (sum of the positive ones - 2^20) / their number
 * (Held, Wolfe and Crowder 1974): theta = QUOTIENT + REST / COUNT. All positive ones have the same
 * fraction, so rounding them down leaves COUNT - REST units over, or none. */
void gaussian_simplex_project(uint32_t actions, const int64_t *y, int64_t *z)
{
    uint32_t order[GAUSSIAN_SIMPLEX_MAX_ACTIONS];
    assert(actions >= 1 && actions <= GAUSSIAN_SIMPLEX_MAX_ACTIONS);
    for (uint32_t i = 0; i < actions; i++)
        assert(y[i] > -Y_MAX && y[i] < Y_MAX);
    sort_down(actions, y, order);
    int64_t excess = -GAUSSIAN_SIMPLEX_GRID, count = 0;
    for (uint32_t i = 0; i < actions; i++) {
        __int128 after = (__int128)(count + 1) * y[order[i]];
        if (after <= excess + y[order[i]])
            break;
        excess += y[order[i]];
        count++;
    }
    assert(count > 0); /* the greatest coordinate is always among them */
    int64_t quotient = excess / count, rest = excess % count;
    if (rest < 0) {
        rest += count;
        quotient--;
    }
    int64_t over = rest > 0 ? count - rest : 0;
    for (uint32_t i = 0; i < actions; i++) {
        int64_t above = y[order[i]] - quotient - (rest > 0) + (i < over);
        z[order[i]] = i < count ? above : 0;
    }
}

bool gaussian_simplex_sample(const struct gaussian_simplex *mechanism, struct noise_source *noise,
                             const double *p, double *z)
{
    assert(!gaussian_simplex_problem(mechanism));
    int64_t y[GAUSSIAN_SIMPLEX_MAX_ACTIONS], row[GAUSSIAN_SIMPLEX_MAX_ACTIONS];
    uint32_t m = mechanism->actions;
    if (!to_lattice(m, p, y))
        return false;
    /* In units of the lattice, rounded up: never less noise than was priced. */
    uint64_t scale = (uint64_t)ceil(mechanism->sigma * GRID * (1 << NOISE_LATTICE_FRACTION));
    for (uint32_t i = 0; i < m; i++)
        y[i] += noise_lattice_gaussian(noise, scale);
    gaussian_simplex_project(m, y, row);
    for (uint32_t i = 0; i < m; i++)
        z[i] = (double)row[i] / GRID;
    return true;
}

/* ---- accuracy */

/* P(chi-square of D degrees > X), by the recurrence of Abramowitz and Stegun 26.4.4 and 26.4.5. */
static double chi_square_above(uint32_t d, double x)
{
    double half = 0.5 * x;
    double shape = d % 2 ? 0.5 : 1.0;
    double sum = d % 2 ? erfc(sqrt(half)) : exp(-half);
    /* term = half^shape e^-half / Gamma(shape + 1) */
    double term = d % 2 ? 2.0 * sqrt(half / M_PI) * exp(-half) : half * exp(-half);
    for (; shape < 0.5 * d; shape += 1.0) {
        sum += term;
        term *= half / (shape + 1.0);
    }
    return sum;
}

double gaussian_simplex_error_radius(const struct gaussian_simplex *mechanism, double beta)
{
    assert(beta > 0.0 && beta < 1.0);
    uint32_t d = mechanism->actions - 1;
    double t = -log(beta);
    double low = 0, high = d + 2.0 * sqrt(d * t) + 2.0 * t; /* Laurent and Massart 2000 */
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (chi_square_above(d, middle) > beta)
            low = middle;
        else
            high = middle;
    }
    double radius = mechanism->sigma * sqrt(high) + 2.0 * sqrt(mechanism->actions) / GRID;
    return fmin(M_SQRT2, radius);
}
