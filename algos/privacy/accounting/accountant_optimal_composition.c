/* Optimal composition (Kairouz, Oh, Viswanath 2015, Thm 3.3): what any mechanisms known only by
 * their (epsilon, delta) cost together at worst, exactly, as that worst case is a law on points.
 * Equal pairs in any number; unequal ones, and randomised response, while the list of losses stays
 * short (to find it in general is #P-hard: Murtagh and Vadhan 2016). */
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_laws.h"
#include "algos/privacy/laws/points.h"

/* The composed law of COMPOSITION. */
static enum accountant_status optimal_law(const struct composition *composition, struct points *out)
{
    struct accountant_laws laws;
    enum accountant_status status = accountant_laws_of(composition, &laws);
    if (status != ACCOUNTANT_OK)
        return status;
    enum points_status listed = POINTS_OK;
    if (!accountant_laws_only_points(&laws))
        status = ACCOUNTANT_UNSUPPORTED;
    else
        listed = points_compose(laws.law, laws.count, out);
    accountant_laws_clear(&laws);
    return listed == POINTS_OK ? status : ACCOUNTANT_OUT_OF_REACH;
}

static enum accountant_status optimal_epsilon(const struct composition *composition, double delta,
                                              struct privacy_interval *out)
{
    if (!composition->count || !(delta > 0.0 && delta < 1.0))
        return ACCOUNTANT_BAD;
    struct points points;
    enum accountant_status status = optimal_law(composition, &points);
    if (status != ACCOUNTANT_OK)
        return status;
    struct privacy_interval interval = points_epsilon_interval(&points, delta);
    points_clear(&points);
    if (isinf(interval.lower)) /* what is left to chance alone exceeds DELTA: no epsilon does */
        return ACCOUNTANT_OUT_OF_REACH;
    *out = interval;
    return ACCOUNTANT_OK;
}

static enum accountant_status optimal_delta(const struct composition *composition, double at,
                                            struct privacy_interval *out)
{
    if (!composition->count || !(at >= 0.0))
        return ACCOUNTANT_BAD;
    struct points points;
    enum accountant_status status = optimal_law(composition, &points);
    if (status != ACCOUNTANT_OK)
        return status;
    *out = points_delta_interval(&points, at);
    points_clear(&points);
    return ACCOUNTANT_OK;
}

const struct accountant accountant_optimal_composition = {
    "optimal_composition", ACCOUNTANT_CERTIFIED, optimal_epsilon, optimal_delta};
