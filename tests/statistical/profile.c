/* A bisection over the noise; in it, a search for the place of the curve that the event is worst
 * for. Upper figures of the accountant stand in for the curve, so that nothing is refuted that
 * holds. */
#include "tests/statistical/profile.h"

#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/accountant_pld.h"
#include "algos/privacy/accounting/privacy_report.h"

#define MOST_EPSILON 6.0 /* how far along the curve it looks */
#define MOST_CHANGE  4.0 /* how far from the claimed noise */

double profile_price(const struct mechanism *mechanism, uint64_t times, double delta)
{
    struct composition plan = {0};
    struct privacy_interval epsilon;
    cr_assert_eq(composition_add(&plan, mechanism, times), COMPOSITION_OK);
    cr_assert_eq(accountant_epsilon(privacy_report_accountant(&plan), &plan, delta, &epsilon),
                 ACCOUNTANT_OK);
    composition_clear(&plan);
    return epsilon.upper;
}

/* e^epsilon q + delta(epsilon) - p: below 0 the claim is refuted. Convex in e^epsilon. */
static double slack(const struct composition *claim, double epsilon, double p, double q)
{
    const struct pld_effort rough = {
        .relative_gap = 1e-2, .irrelevant = 1e-12, .max_log2_size = 14};
    struct privacy_interval delta;
    cr_assert_eq(accountant_pld_figure(claim, PLD_DELTA, epsilon, &rough, &delta), ACCOUNTANT_OK);
    return exp(epsilon) * q + delta.upper - p;
}

/* By golden sections; stopping early misses a refutation at worst. */
static bool refuted_by(const struct composition *claim, double p, double q)
{
    const double golden = 0.6180339887498949;
    double low = 0.0, high = MOST_EPSILON;
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double at_left = slack(claim, left, p, q), at_right = slack(claim, right, p, q);
    while (at_left >= 0.0 && at_right >= 0.0 && high - low > 0.1) {
        if (at_left < at_right) {
            high = right;
            right = left;
            at_right = at_left;
            left = high - golden * (high - low);
            at_left = slack(claim, left, p, q);
        } else {
            low = left;
            left = right;
            at_left = at_right;
            right = low + golden * (high - low);
            at_right = slack(claim, right, p, q);
        }
    }
    return at_left < 0.0 || at_right < 0.0;
}

static bool refuted(const struct mechanism *mechanism, uint64_t times, double p, double q)
{
    struct composition claim = {0};
    cr_assert_eq(composition_add(&claim, mechanism, times), COMPOSITION_OK);
    bool is = refuted_by(&claim, p, q) || refuted_by(&claim, 1.0 - q, 1.0 - p);
    composition_clear(&claim);
    return is;
}

double profile_shown(const struct mechanism *mechanism, uint64_t times, double delta, double p,
                     double q)
{
    cr_assert_eq(mechanism->kind, MECHANISM_SUBSAMPLED_GAUSSIAN);
    struct mechanism at = *mechanism;
    double *noise = &at.gaussian.noise_multiplier;
    double low = *noise / MOST_CHANGE, high = *noise * MOST_CHANGE;
    *noise = high;
    if (!refuted(&at, times, p, q))
        return 0.0;
    while (high > 1.025 * low) {
        *noise = sqrt(low * high);
        if (refuted(&at, times, p, q))
            high = *noise;
        else
            low = *noise;
    }
    at.gaussian.noise_multiplier = high;
    return profile_price(&at, times, delta);
}
