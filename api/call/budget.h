/* Budgets as callers see them: epsilon and delta, whatever units the account counts in.
 *
 * A basic account counts nano-epsilon and 1e-18 of delta. A Renyi account counts nano of Renyi
 * divergence at its one order; its epsilon is converted at the account's delta, all of which the
 * conversion uses: as long as nothing was asked 0 of it is spent, and what remains is stated at it.
 * What is reserved is shown as what it would add to what is spent. */
#ifndef TACET_API_CALL_BUDGET_H
#define TACET_API_CALL_BUDGET_H

#include <jansson.h>
#include <stdint.h>

#include "api/wire/problem.h"
#include "storage/ledger/ledger.h"

struct call;

/* Epsilon that UNITS, all that is spent of ACCOUNT, amount to; 0 for 0. */
double budget_epsilon(const struct ledger_account *account, int64_t units);

/* What UNITS add to the epsilon of BEFORE units; never negative. */
double budget_epsilon_added(const struct ledger_account *account, int64_t before, int64_t units);

/* {"epsilon","delta"}. New reference. */
json_t *budget_amount(double epsilon, double delta);

/* What is spent of ACCOUNT, {"epsilon","delta"}. New reference. */
json_t *budget_spent(const struct ledger_account *account);

/* What remains of it, likewise. */
json_t *budget_remaining(const struct ledger_account *account);

/* {"account","unit","limit","spent","reserved","remaining","accounting"[,"order"]}. New reference.
 */
json_t *budget_json(const struct ledger_account *account);

/* The refusal that a verdict other than LEDGER_OK stands for: 403 budget-exhausted or 409
 * budget-reserved with "violated", 403 no-budget, 409 conflict. */
enum problem budget_refused(struct call *call, const struct ledger_outcome *outcome);

#endif
