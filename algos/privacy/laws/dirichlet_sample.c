/* Mixing into the restricted simplex and drawing from it. */
#include "algos/privacy/laws/dirichlet.h"

#include <assert.h>
#include <math.h>

#define GRID 1048576.0 /* 2^20 */

void dirichlet_mix(const struct dirichlet *mechanism, double *probabilities)
{
    double eta = mechanism->min_probability;
    double scale = 1.0 - mechanism->actions * eta;
    for (uint32_t i = 0; i < mechanism->actions; i++)
        probabilities[i] = eta + scale * probabilities[i];
}

static bool in_simplex(const struct dirichlet *mechanism, const double *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < mechanism->actions; i++) {
        if (!(p[i] >= mechanism->min_probability * (1.0 - 1e-12) && p[i] <= 1.0))
            return false;
        sum += p[i];
    }
    return fabs(sum - 1.0) <= 1e-9;
}

/* Rounds Z, which sums to about one, to multiples of 1/GRID that sum to exactly one: down, then the
 * largest remainders up. Ties go to the lower number, a public rule. */
static void round_to_grid(double *z, uint32_t m)
{
    double remainder[DIRICHLET_MAX_ACTIONS], left = GRID;
    assert(m > 0 && m <= DIRICHLET_MAX_ACTIONS);
    for (uint32_t i = 0; i < m; i++) {
        double whole = floor(z[i] * GRID);
        remainder[i] = z[i] * GRID - whole;
        z[i] = whole;
        left -= whole;
    }
    for (; left > 0.0; left -= 1.0) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < m; i++)
            if (remainder[i] > remainder[best])
                best = i;
        z[best] += 1.0;
        remainder[best] -= 1.0;
    }
    for (; left < 0.0; left += 1.0) { /* rounding made the parts sum to a hair more than one */
        uint32_t most = 0;
        for (uint32_t i = 1; i < m; i++)
            if (z[i] > z[most])
                most = i;
        z[most] -= 1.0;
    }
    for (uint32_t i = 0; i < m; i++)
        z[i] /= GRID;
}

bool dirichlet_sample(const struct dirichlet *mechanism, struct noise_source *noise,
                      const double *p, double *z)
{
    assert(mechanism->actions >= 2 && mechanism->actions <= DIRICHLET_MAX_ACTIONS);
    if (!in_simplex(mechanism, p))
        return false;
    double top = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < mechanism->actions; i++) {
        z[i] = noise_log_gamma(noise, mechanism->concentration * p[i]);
        top = fmax(top, z[i]);
    }
    for (uint32_t i = 0; i < mechanism->actions; i++) {
        z[i] = exp(z[i] - top);
        sum += z[i];
    }
    for (uint32_t i = 0; i < mechanism->actions; i++)
        z[i] /= sum;
    round_to_grid(z, mechanism->actions);
    return true;
}
