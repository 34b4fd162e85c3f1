/* Advanced composition (Dwork and Roth 2014, Thm 3.20), for comparison with what replaced it.
 *
 * Of (epsilon_i, delta_i) pairs the loss is a martingale around at most sum epsilon_i
 * (exp(epsilon_i)
 * - 1) with steps of at most epsilon_i, so by Azuma's inequality, for any delta' > 0,
 *     (sqrt(2 ln(1/delta') sum epsilon_i^2) + sum epsilon_i (exp(epsilon_i) - 1),
 *      sum delta_i + delta')
 * holds, also of unequal pairs. The book's Cor. 3.21, epsilon' / (2 sqrt(2 k ln(1/delta'))) for
 * each, is stated for epsilon' < 1 only and is not used here: beyond 1 the theorem itself is. */
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_laws.h"

#define ROUND_UP (1.0 + 1e-14)

struct sums {
    double square, mean, delta;
};

static enum accountant_status sum(const struct composition *composition, struct sums *out)
{
    *out = (struct sums){0};
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        double times = (double)composition->part[i].times;
        if (mechanism_problem(mechanism))
            return ACCOUNTANT_BAD;
        if (mechanism->kind == MECHANISM_DIRICHLET ||
            mechanism->kind == MECHANISM_SUBSAMPLED_GAUSSIAN)
            return ACCOUNTANT_UNSUPPORTED;
        struct contour_law law = accountant_law_of(mechanism, 1.0);
        double epsilon = contour_law_greatest(&law);
        out->square += times * epsilon * epsilon;
        out->mean += times * epsilon * expm1(epsilon);
        if (mechanism->kind == MECHANISM_EPSILON_DELTA)
            out->delta += times * mechanism->pair.delta;
    }
    double round_up = 1.0 + 1e-15 * (2.0 + (double)composition->count);
    out->square *= round_up;
    out->mean *= round_up;
    out->delta *= round_up;
    return composition->count ? ACCOUNTANT_OK : ACCOUNTANT_BAD;
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
    double slack = delta - sums.delta;
    if (!(slack > 0.0) || !isfinite(sums.mean))
        return ACCOUNTANT_OUT_OF_REACH;
    double upper = sqrt(2.0 * -log(slack) * sums.square) + sums.mean;
    *out = (struct privacy_interval){0.0, upper * ROUND_UP};
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
    double beyond = at - sums.mean;
    if (beyond > 0.0) {
        double slack =
            sums.square > 0.0 ? exp(-0.5 * beyond * beyond / sums.square * (1.0 - 1e-12)) : 0.0;
        out->upper = fmin(1.0, sums.delta + slack * ROUND_UP);
    }
    return ACCOUNTANT_OK;
}

const struct accountant accountant_advanced = {"advanced", ACCOUNTANT_CERTIFIED, epsilon, delta};
