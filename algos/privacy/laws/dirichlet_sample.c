/* Mixing into the restricted simplex and drawing from it. */
#include "algos/privacy/laws/dirichlet.h"

#include <assert.h>
#include <math.h>

#define GRID (INT64_C(1) << 20)

/* Rounds F to multiples of 2^-52 that sum to one; what is left over goes to the greatest. */
static void lattice_from(double *f, uint32_t m)
{
    int64_t left = INT64_C(1) << 52;
    uint32_t most = 0;
    for (uint32_t i = 0; i < m; i++) {
        int64_t units = llrint(f[i] * 0x1p52);
        f[i] = (double)units * 0x1p-52;
        left -= units;
        most = f[i] > f[most] ? i : most;
    }
    f[most] += (double)left * 0x1p-52; /* a few units: exact */
}

/* Whether P are at least LEAST and sum to one. */
static bool in_simplex(const double *p, uint32_t m, double least)
{
    double sum = 0;
    for (uint32_t i = 0; i < m; i++) {
        if (!(p[i] >= least && p[i] <= 1.0))
            return false;
        sum += p[i];
    }
    return fabs(sum - 1.0) <= 1e-9;
}

void dirichlet_mix(const struct dirichlet *mechanism, double *probabilities)
{
    double eta = mechanism->min_probability;
    double scale = 1.0 - mechanism->actions * eta;
    if (in_simplex(probabilities, mechanism->actions, 0.0)) /* else dirichlet_sample refuses */
        lattice_from(probabilities, mechanism->actions);
    for (uint32_t i = 0; i < mechanism->actions; i++)
        probabilities[i] = eta + scale * probabilities[i];
}

/* COUNT[m], which sum to 2^40, in units of 2^-40, as multiples of 2^-20 that sum to one: down, then
 * the largest remainders up. Ties go to the lower number, a public rule. */
static void round_to_grid(int64_t *count, uint32_t m, double *z)
{
    int64_t left = GRID;
    for (uint32_t i = 0; i < m; i++) {
        int64_t whole = count[i] >> 20;
        count[i] -= whole << 20;
        z[i] = (double)whole;
        left -= whole;
    }
    for (; left > 0; left--) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < m; i++)
            if (count[i] > count[best])
                best = i;
        z[best] += 1.0;
        count[best] = -1;
    }
    for (uint32_t i = 0; i < m; i++)
        z[i] /= (double)GRID;
}

/* The counts of 2^40 trials under Dir(concentration p), one action after the other. */
bool dirichlet_sample(const struct dirichlet *mechanism, struct noise_source *noise,
                      const double *p, double *z)
{
    uint32_t m = mechanism->actions;
    assert(m >= 2 && m <= DIRICHLET_MAX_ACTIONS);
    if (!in_simplex(p, m, mechanism->min_probability * (1.0 - 1e-12)))
        return false;
    int64_t count[DIRICHLET_MAX_ACTIONS], trials = INT64_C(1) << 40;
    double shape[DIRICHLET_MAX_ACTIONS], rest[DIRICHLET_MAX_ACTIONS];
    long double sum = 0.0L; /* 63 additions in double may err by more than the error bound allows */
    for (uint32_t i = m; i-- > 0;) {
        shape[i] = fmax(1.0, mechanism->concentration * p[i]); /* it is 1 but for rounding */
        rest[i] = (double)sum;
        sum += (long double)shape[i];
    }
    for (uint32_t i = 0; i + 1 < m; i++) {
        count[i] = (int64_t)noise_beta_binomial(noise, (uint64_t)trials, shape[i], rest[i]);
        trials -= count[i];
    }
    count[m - 1] = trials;
    round_to_grid(count, m, z);
    return true;
}
