/* Basic and advanced composition, of mechanisms whose losses end at an epsilon: pairs, Laplace,
 * randomised response. For comparison with what replaced them.
 *
 * Basic (Dwork and Roth 2014, Thm 3.16): epsilons and deltas add up, adaptively too.
 *
 * Advanced (Thm 3.20): of (epsilon_i, delta_i) pairs the loss is a martingale around at most
 * sum epsilon_i (exp(epsilon_i) - 1) with steps of at most epsilon_i, so by Azuma's inequality,
 * for any delta' > 0,
 *     (sqrt(2 ln(1/delta') sum epsilon_i^2) + sum epsilon_i (exp(epsilon_i) - 1),
 *      sum delta_i + delta')
 * holds, also of unequal pairs. The book's Cor. 3.21 is stated for epsilon' < 1 only and is not
 * used: beyond 1 the theorem itself is. */
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_laws.h"

#define ROUND_UP (1.0 + 1e-14)

/* An excess of delta, or of epsilon, below this, relatively, is taken for rounding of the decimals
 * given. */
#define SAME 1e-12

/* What a composition adds up to, rounded up. */
struct sums {
    double epsilon, square, mean, delta; /* sums of e, e^2, e (exp(e) - 1), and delta */
};

static enum accountant_status sums_of(const struct composition *composition, struct sums *out)
{
    struct sums sums = {0};
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        double times = (double)composition->part[i].times;
        if (mechanism->kind == MECHANISM_DIRICHLET ||
            mechanism->kind == MECHANISM_SUBSAMPLED_GAUSSIAN)
            return ACCOUNTANT_UNSUPPORTED;
        struct contour_law law = accountant_law_of(mechanism, 1.0);
        double epsilon = contour_law_greatest(&law);
        sums.epsilon += times * epsilon;
        sums.square += times * epsilon * epsilon;
        sums.mean += times * epsilon * expm1(epsilon);
        if (mechanism->kind == MECHANISM_EPSILON_DELTA)
            sums.delta += times * mechanism->pair.delta;
    }
    double round_up = 1.0 + 1e-15 * (2.0 + (double)composition->count);
    *out = (struct sums){sums.epsilon * round_up, sums.square * round_up, sums.mean * round_up,
                         sums.delta * round_up};
    return ACCOUNTANT_OK;
}

static enum accountant_status basic_figure(const struct composition *composition,
                                           const struct accountant_question *question,
                                           struct privacy_interval *out)
{
    struct sums sums;
    enum accountant_status status = sums_of(composition, &sums);
    if (status != ACCOUNTANT_OK)
        return status;
    if (question->for_delta) {
        bool holds = sums.epsilon <= question->at * (1.0 + SAME);
        *out = (struct privacy_interval){0.0, holds ? fmin(1.0, sums.delta) : 1.0};
        return ACCOUNTANT_OK;
    }
    if (sums.delta > question->at * (1.0 + SAME))
        return ACCOUNTANT_OUT_OF_REACH;
    *out = (struct privacy_interval){0.0, sums.epsilon};
    return ACCOUNTANT_OK;
}

static double advanced_delta(const struct sums *sums, double epsilon)
{
    double beyond = epsilon - sums->mean, slack = 0.0;
    if (!(beyond > 0.0))
        return 1.0;
    if (sums->square > 0.0)
        slack = exp(-0.5 * beyond * beyond / sums->square * (1.0 - 1e-12));
    return fmin(1.0, sums->delta + slack * ROUND_UP);
}

static enum accountant_status advanced_figure(const struct composition *composition,
                                              const struct accountant_question *question,
                                              struct privacy_interval *out)
{
    struct sums sums;
    enum accountant_status status = sums_of(composition, &sums);
    if (status != ACCOUNTANT_OK)
        return status;
    if (question->for_delta) {
        *out = (struct privacy_interval){0.0, advanced_delta(&sums, question->at)};
        return ACCOUNTANT_OK;
    }
    double slack = question->at - sums.delta;
    if (!(slack > 0.0) || !isfinite(sums.mean))
        return ACCOUNTANT_OUT_OF_REACH;
    double upper = sqrt(2.0 * -log(slack) * sums.square) + sums.mean;
    *out = (struct privacy_interval){0.0, upper * ROUND_UP};
    return ACCOUNTANT_OK;
}

const struct accountant accountant_basic = {"basic", basic_figure};
const struct accountant accountant_advanced = {"advanced", advanced_figure};
