/* Budgets as callers see them: epsilon and delta, whatever units the account counts in.
 *
 * A basic account counts nano-epsilon and 1e-18 of delta. A Renyi account counts nano of Renyi
 * divergence at its one order; its epsilon is converted at the account's delta, all of which the
 * conversion uses (0 is spent as long as no query was). What is reserved is shown as what it would
 * add to what is spent. */
#ifndef TACET_API_BUDGET_H
#define TACET_API_BUDGET_H

#include <jansson.h>
#include <stdint.h>

#include "api/problem.h"

struct call;
struct ledger_account;

/* Epsilon (and delta) that UNITS of ACCOUNT's spending amount to. */
double budget_epsilon(const struct ledger_account *account, int64_t units);
double budget_delta(const struct ledger_account *account, int64_t units, int64_t delta_units);

/* {"epsilon","delta"}. New reference; NULL: memory. */
json_t *budget_amount(double epsilon, double delta);

/* What is spent and what remains of ACCOUNT, each {"epsilon","delta"}. New references. */
json_t *budget_spent(const struct ledger_account *account);
json_t *budget_remaining(const struct ledger_account *account);

/* {"account","unit","limit","spent","reserved","remaining","accounting"[,"order"]}. New reference.
 */
json_t *budget_json(const struct ledger_account *account);

#endif
