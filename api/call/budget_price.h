/* What a plan costs an account, in the account's own unit. */
#ifndef TACET_API_CALL_BUDGET_PRICE_H
#define TACET_API_CALL_BUDGET_PRICE_H

#include <stdbool.h>

#include "algos/privacy/laws/mechanism.h"
#include "storage/ledger/ledger.h"

/* A plan fixed in advance. An account that adds epsilons pays EPSILON and DELTA. A Renyi account
 * pays the divergence of EVENT (event_json.h) at its order and the deltas of EVENT's parts. */
struct budget_plan {
    double epsilon, delta;
    const char *event;
};

/* Fills OUT with the price of PLAN, rounded up, on ACCOUNT, whose id it borrows. False: it is too
 * large to be counted, or EVENT has no divergence at the account's order. */
bool budget_plan_price(const struct ledger_account *account, const struct budget_plan *plan,
                       struct ledger_price *out);

/* Reads EVENT into the flat *OUT, which the caller clears; without parts where nothing happened.
 * False: it is no event, or it has no price. */
bool budget_event_read(const char *event, struct composition *out);

#endif
