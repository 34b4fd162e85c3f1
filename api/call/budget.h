/* Budgets as callers see them: epsilon and delta, whatever units the account counts in.
 *
 * A basic account counts nano-epsilon and 1e-18 of delta. A Renyi account counts nano of Renyi
 * divergence at its one order; its epsilon is converted at the account's delta, and the conversion
 * uses all of that delta but what is set aside for releases with a delta of their own. No delta
 * counts as spent before the first charge, and the remaining epsilon is stated at that delta. A
 * reserved amount is shown as the epsilon that it would add to the spent one. */
#ifndef TACET_API_CALL_BUDGET_H
#define TACET_API_CALL_BUDGET_H

#include <jansson.h>
#include <stdint.h>

#include "storage/ledger/ledger.h"

/* The epsilon of UNITS, the total that is spent of ACCOUNT; 0 for 0. */
double budget_epsilon(const struct ledger_account *account, int64_t units);

/* The epsilon that UNITS add to the epsilon of BEFORE units; never negative. */
double budget_epsilon_added(const struct ledger_account *account, int64_t before, int64_t units);

/* {"epsilon","delta"}. New reference. */
json_t *budget_amount(double epsilon, double delta);

struct budget_sum {
    double epsilon, delta;
};

/* What UNITS and DELTA_UNITS add to what is spent and held of ACCOUNT, as numbers. */
struct budget_sum budget_added_sum(const struct ledger_account *account, int64_t units,
                                   int64_t delta_units);

/* The least limit, to seven digits, of an account of ORDER (0: basic) that pays for UNITS and
 * DELTA_UNITS. Its delta is at least DELTA. */
struct budget_sum budget_least(double order, int64_t units, int64_t delta_units, double delta);

/* The least limit of ACCOUNT, not below the present one, with which it could pay for UNITS and
 * DELTA_UNITS beside what is spent and held. */
struct budget_sum budget_limit_for(const struct ledger_account *account, int64_t units,
                                   int64_t delta_units);

/* Of DELTA an account sets so many units ASIDE. */
struct budget_split {
    double delta;
    int64_t aside;
};

/* Sets *OUT_UNITS and *OUT_DELTA to the limits of (EPSILON, DELTA) in the units of ACCOUNT, at its
 * own order. What a Renyi account sets aside is the part of delta that it is in SPLIT, with which
 * the account was opened: the split never moves. False: such a limit can pay nothing, leaves
 * nothing of what is set aside, or is too large to be counted. */
bool budget_limit_units(const struct ledger_account *account, struct budget_split split,
                        double epsilon, double delta, int64_t *out_units, int64_t *out_delta);

/* The least limit, to seven digits and with a delta of at least DELTA, that ACCOUNT may be given:
 * it covers what is spent and held. */
struct budget_sum budget_least_limit(const struct ledger_account *account, double delta);

/* What is spent of ACCOUNT, as numbers. */
struct budget_sum budget_spent_sum(const struct ledger_account *account);

/* What remains of ACCOUNT, as numbers. */
struct budget_sum budget_remaining_sum(const struct ledger_account *account);

/* What is spent of ACCOUNT, {"epsilon","delta"}. New reference. */
json_t *budget_spent(const struct ledger_account *account);

/* The part of it that restores have burnt, UNITS and DELTA_UNITS of it (ledger_burnt): without it
 * this much less would be spent. New reference. */
json_t *budget_burnt(const struct ledger_account *account, int64_t units, int64_t delta_units);

/* What jobs hold of ACCOUNT, {"epsilon","delta"}. New reference. */
json_t *budget_reserved(const struct ledger_account *account);

/* What remains of ACCOUNT, {"epsilon","delta"}. New reference. */
json_t *budget_remaining(const struct ledger_account *account);

/* {"account","unit","limit","spent","reserved","remaining","accounting"[,"order"]}. New reference.
 */
json_t *budget_json(const struct ledger_account *account);

#endif
