/* Accounts whose spender chooses each next release after seeing the earlier ones: privacy filters.
 *
 * Two rules are proved and known here. FILTER BY RENYI: divergences of one order, fixed when the
 * account is opened, add up to at most what converts to (epsilon, delta) at that order (Feldman
 * and Zrnic 2021). BASIC: epsilons add up to at most epsilon and deltas to at most delta (Rogers,
 * Roth, Ullman and Vadhan 2016). "Some order still fits" is neither, and is not done.
 *
 * One account pays for releases of any mechanisms: each is a filter_release, its own price list.
 * Amounts are integers, of 1e-9 (epsilon, divergence) and of 1e-18 (delta): prices are rounded up,
 * limits down, so that adding them is exact. */
#ifndef TACET_ALGOS_PRIVACY_ANSWERS_FILTER_H
#define TACET_ALGOS_PRIVACY_ANSWERS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/answers/gaussian_simplex.h"
#include "algos/privacy/laws/dirichlet.h"

#define FILTER_UNIT       1e-9
#define FILTER_DELTA_UNIT 1e-18
#define FILTER_UNITS_MAX  INT64_C(4000000000000000000) /* of one amount, limit or total */

/* ---- what releases cost */

/* One release as accounts see it. MECHANISM is borrowed. */
struct filter_release {
    const void *mechanism;
    /* Certified bounds between neighbours; INFINITY where there is none. */
    double (*renyi)(const void *mechanism, double order);   /* Renyi divergence at ORDER > 1 */
    double (*epsilon)(const void *mechanism, double delta); /* of one use; delta in (0, 1) */
    double order_limit; /* renyi is finite below this order; INFINITY: at every order */
    double own_delta;   /* the delta that one use spends whatever its share; negative: any share
                         * is possible */
};

/* One Dirichlet answer, as an account prices it. */
struct filter_release filter_dirichlet(const struct dirichlet *mechanism);

/* One answer of the Gaussian mechanism on the simplex, as an account prices it. */
struct filter_release filter_gaussian_simplex(const struct gaussian_simplex *mechanism);

/* Epsilon at DELTA of COUNT uses that were fixed in advance, at the best order. INFINITY: no order
 * is finite. */
double filter_planned_epsilon(const struct filter_release *release, double count, double delta);

/* ---- the account */

struct filter {
    double order; /* > 1: Renyi divergence of that order; 0: basic composition */
    int64_t limit_units, limit_delta; /* by Renyi, limit_delta is what filter_open_shared sets
                                         aside, else 0: the conversion uses the rest */
    int64_t spent_units, spent_delta;
};

/* Opens an account of (EPSILON, DELTA) at ORDER (0: basic). False when the order is neither 0 nor
 * finite and above 1, when epsilon or delta are out of range, and when not even 0 fits. */
bool filter_open(struct filter *out, double order, double epsilon, double delta);

/* Opens a Renyi account that also pays for releases with a delta of their own: DELTA_SHARE, in
 * (0, 1), of DELTA is set aside for these deltas, which add up, and the conversion uses the rest.
 * False as above. */
bool filter_open_shared(struct filter *out, double order, double epsilon, double delta,
                        double delta_share);

/* The same, with ASIDE_UNITS (of 1e-18, below DELTA) set aside. */
bool filter_open_aside(struct filter *out, double order, double epsilon, double delta,
                       int64_t aside_units);

struct filter_price {
    int64_t units, delta_units;
};

/* What COUNT uses of RELEASE cost an account of ORDER; SHARE is the delta (in units of 1e-18) that
 * each use gets of a basic account. False when they have no finite price there. A price is never
 * 0. */
bool filter_price(double order, int64_t share, const struct filter_release *release, int64_t count,
                  struct filter_price *out);

/* Spends PRICE, or returns false and changes nothing. After false the release must not happen. */
bool filter_spend(struct filter *filter, const struct filter_price *price);

/* The epsilon at DELTA that UNITS of an account of ORDER stand for; 0 for 0. Of an order or a delta
 * that no account has, INFINITY. */
double filter_epsilon(double order, int64_t units, double delta);

/* ---- how to open one */

/* The order at which a fresh account of (EPSILON, DELTA) pays for most uses of RELEASE, and in
 * *OUT_COUNT (may be NULL) how many: 0 when not one. */
double filter_best_order(const struct filter_release *release, double epsilon, double delta,
                         int64_t *out_count);

/* The order at which a fresh account of (EPSILON, DELTA) pays for most releases of many small
 * Gaussians, whatever their noise. */
double filter_plan_order(double epsilon, double delta);

/* The share of DELTA, in units of 1e-18, with which a fresh basic account of (EPSILON, DELTA) pays
 * for most uses of RELEASE (within a thousandth). A function of public parameters alone. */
int64_t filter_best_share(const struct filter_release *release, double epsilon, double delta);

#endif
