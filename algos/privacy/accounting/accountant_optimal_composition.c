/* Optimal composition (Kairouz, Oh, Viswanath 2015, Thm 3.3): the exact worst cost of several
 * mechanisms of which only (epsilon, delta) is known. The worst case is a law on finitely many
 * losses. Any number of mechanisms with equal (epsilon, delta) has a figure. Unequal ones, and
 * randomised response, have a figure only while the list of losses stays short. (In general the
 * problem is #P-hard: Murtagh and Vadhan 2016.) */
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_laws.h"
#include "algos/privacy/laws/points.h"

/* The composed law of COMPOSITION. */
static enum accountant_status optimal_law(const struct composition *composition, struct points *out)
{
    struct accountant_laws laws;
    enum accountant_status status = ACCOUNTANT_OK;
    accountant_laws_of(composition, &laws);
    if (!accountant_laws_only_points(&laws))
        status = ACCOUNTANT_UNSUPPORTED;
    else if (points_compose(laws.law, laws.count, out) != POINTS_OK)
        status = ACCOUNTANT_OUT_OF_REACH;
    accountant_laws_clear(&laws);
    return status;
}

static enum accountant_status optimal_figure(const struct composition *composition,
                                             const struct accountant_question *question,
                                             struct privacy_interval *out)
{
    struct points points;
    enum accountant_status status = optimal_law(composition, &points);
    if (status != ACCOUNTANT_OK)
        return status;
    struct privacy_interval interval = question->for_delta
                                           ? points_delta_interval(&points, question->at)
                                           : points_epsilon_interval(&points, question->at);
    points_clear(&points);
    if (isinf(interval.lower)) /* what is left to chance alone exceeds delta: no epsilon does */
        return ACCOUNTANT_OUT_OF_REACH;
    *out = interval;
    return ACCOUNTANT_OK;
}

const struct accountant accountant_optimal_composition = {"optimal_composition", optimal_figure};
