/* Few outcomes, and Laplace's panels in closed form. */
#include "algos/privacy/laws/pld_mechanisms.h"

#include <math.h>

#define PANEL_WIDTH 0.02 /* of the loss, when there is no grid: 100 panels at least */
#define MIN_PANELS  100.0
#define MAX_PANELS  1e5

struct pld_atoms pld_atoms_of_pair(double epsilon, double delta)
{
    double told = 1.0 - delta;
    return (struct pld_atoms){.epsilon = epsilon,
                              .high = told / (1.0 + exp(-epsilon)),
                              .low = told * exp(-epsilon) / (1.0 + exp(-epsilon)),
                              .infinite = delta};
}

struct pld_atoms pld_atoms_of_response(double noise_parameter, double buckets)
{
    double each = noise_parameter / buckets, high = (1.0 - noise_parameter) + each;
    return (struct pld_atoms){.epsilon = log1p((1.0 - noise_parameter) / each),
                              .high = high,
                              .middle = each * (buckets - 2.0),
                              .low = each};
}

static bool add_atom(struct pld_outcomes *out, double loss, double mass)
{
    return mass <= 0.0 || pld_outcomes_add_atom(out, loss, mass);
}

bool pld_atoms_outcomes(const void *parameters, double omit, const struct pld_grid *grid,
                        struct pld_outcomes *out)
{
    const struct pld_atoms *atoms = parameters;
    (void)omit, (void)grid;
    *out = (struct pld_outcomes){.infinite_mass = atoms->infinite};
    return add_atom(out, -atoms->epsilon, atoms->low) && add_atom(out, 0.0, atoms->middle) &&
           add_atom(out, atoms->epsilon, atoms->high);
}

/* The losses of [from, to] as one outcome: P-mass p and Q-mass are integrals of exp(+-l/2). */
static bool add_panel(double epsilon, double from, double to, struct pld_outcomes *out)
{
    double half = 0.5 * (to - from), middle = 0.5 * (from + to);
    /* p = exp((to-e)/2)/2 - exp((from-e)/2)/2; its ratio to the Q-mass is exp(middle), exactly */
    double mass = exp(0.5 * (middle - epsilon)) * sinh(0.5 * half);
    return mass <= 0.0 || pld_outcomes_add(out, middle, mass);
}

static bool add_panels(double epsilon, double from, double to, double panels,
                       struct pld_outcomes *out)
{
    for (double i = 0; i < panels; i += 1.0) {
        double left = from + (to - from) * (i / panels);
        double right = from + (to - from) * ((i + 1.0) / panels);
        if (!add_panel(epsilon, left, i + 1.0 < panels ? right : to, out))
            return false;
    }
    return true;
}

bool pld_laplace_outcomes(const void *parameters, double omit, const struct pld_grid *grid,
                          struct pld_outcomes *out)
{
    double epsilon = *(const double *)parameters, from = -epsilon;
    (void)omit;
    *out = (struct pld_outcomes){0};
    if (!add_atom(out, -epsilon, 0.5 * exp(-epsilon)))
        return false;
    if (!grid) {
        double panels = fmin(MAX_PANELS, fmax(MIN_PANELS, ceil(2.0 * epsilon / PANEL_WIDTH)));
        if (!add_panels(epsilon, from, epsilon, panels, out))
            return false;
    }
    for (size_t i = 0; grid && i < grid->count && from < epsilon; i++) {
        double to = fmin((double)grid->place[i] * grid->step, epsilon);
        if (to <= from)
            continue;
        if (!add_panels(epsilon, from, to, 2.0, out))
            return false;
        from = to;
    }
    return add_atom(out, epsilon, 0.5);
}
