/* Basic composition: epsilons and deltas add up (Dwork and Roth 2014, Thm 3.16), adaptively too.
 * Pairs, Laplace and randomised response have an epsilon of their own; Gaussians share in equal
 * parts, run by run, what the pairs leave of delta, and take the epsilon that it stands for. */
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_laws.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/laws/subsampled_gaussian_once.h"

#define ROUND_UP (1.0 + 1e-12)

/* An excess of delta, or of epsilon, below this, relatively, is taken for rounding of the decimals
 * given. */
#define SAME 1e-12

/* What COMPOSITION adds up to, rounded up: Gaussians apart. */
struct sums {
    double epsilon, delta, gaussian_runs;
};

static enum accountant_status sum(const struct composition *composition, struct sums *out)
{
    *out = (struct sums){0};
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        double times = (double)composition->part[i].times;
        if (mechanism_problem(mechanism))
            return ACCOUNTANT_BAD;
        if (mechanism->kind == MECHANISM_DIRICHLET)
            return ACCOUNTANT_UNSUPPORTED;
        if (mechanism->kind == MECHANISM_SUBSAMPLED_GAUSSIAN) {
            out->gaussian_runs += times;
            continue;
        }
        struct contour_law law = accountant_law_of(mechanism, times);
        out->epsilon += contour_law_greatest(&law);
        if (mechanism->kind == MECHANISM_EPSILON_DELTA)
            out->delta += times * mechanism->pair.delta;
    }
    double round_up = 1.0 + 1e-15 * (1.0 + (double)composition->count);
    out->epsilon *= round_up;
    out->delta *= round_up;
    return composition->count ? ACCOUNTANT_OK : ACCOUNTANT_BAD;
}

/* Epsilon of one Gaussian run that is left DELTA: the worse direction, rounded up. */
static double gaussian_epsilon(const struct mechanism *mechanism, double delta)
{
    double q = mechanism->gaussian.sampling_rate, s = mechanism->gaussian.noise_multiplier;
    if (q == 1.0)
        return gaussian_dp_epsilon_interval(1.0 / s, delta).upper;
    double less = delta * (1.0 - SUBSAMPLED_GAUSSIAN_ONCE_ERROR);
    double removed = subsampled_gaussian_once_epsilon(q, s, false, less);
    double added = subsampled_gaussian_once_epsilon(q, s, true, less);
    return fmax(removed, added) * ROUND_UP;
}

static double all_gaussians(const struct composition *composition, double delta_each)
{
    double total = 0;
    for (size_t i = 0; i < composition->count; i++)
        if (composition->part[i].mechanism.kind == MECHANISM_SUBSAMPLED_GAUSSIAN)
            total += (double)composition->part[i].times *
                     gaussian_epsilon(&composition->part[i].mechanism, delta_each);
    return total * ROUND_UP;
}

static enum accountant_status epsilon(const struct composition *composition, double delta,
                                      struct privacy_interval *out)
{
    if (!(delta > 0.0 && delta < 1.0))
        return ACCOUNTANT_BAD;
    struct sums sums;
    enum accountant_status status = sum(composition, &sums);
    if (status != ACCOUNTANT_OK)
        return status;
    if (sums.delta > delta * (1.0 + SAME) ||
        (sums.gaussian_runs > 0.0 && sums.delta >= delta * (1.0 - SAME)))
        return ACCOUNTANT_OUT_OF_REACH;
    double total = sums.epsilon;
    if (sums.gaussian_runs > 0.0)
        total += all_gaussians(composition, (delta - sums.delta) / (sums.gaussian_runs * ROUND_UP));
    *out = (struct privacy_interval){0.0, total};
    return ACCOUNTANT_OK;
}

static enum accountant_status delta(const struct composition *composition, double at,
                                    struct privacy_interval *out)
{
    if (!(at >= 0.0))
        return ACCOUNTANT_BAD;
    struct sums sums;
    enum accountant_status status = sum(composition, &sums);
    if (status != ACCOUNTANT_OK)
        return status;
    *out = (struct privacy_interval){0.0, 1.0};
    if (sums.gaussian_runs == 0.0) {
        if (sums.epsilon <= at * (1.0 + SAME))
            out->upper = fmin(1.0, sums.delta);
        return ACCOUNTANT_OK;
    }
    double left = at - sums.epsilon, low = log(1e-300), high = 0.0;
    if (left <= 0.0)
        return ACCOUNTANT_OK;
    while (high - low > 1e-9) { /* ln delta of each run: epsilon falls as it grows */
        double middle = 0.5 * (low + high);
        if (all_gaussians(composition, exp(middle)) <= left)
            high = middle;
        else
            low = middle;
    }
    if (high < 0.0)
        out->upper = fmin(1.0, sums.delta + exp(high) * sums.gaussian_runs * ROUND_UP);
    return ACCOUNTANT_OK;
}

const struct accountant accountant_basic = {"basic", ACCOUNTANT_CERTIFIED, epsilon, delta};
