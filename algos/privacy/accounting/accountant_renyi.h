/* What a plan costs an account that adds Renyi divergences of one order (a Renyi filter,
 * docs/proofs/budgets.md). */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_RENYI_H
#define TACET_ALGOS_PRIVACY_ACCOUNTING_ACCOUNTANT_RENYI_H

#include "algos/privacy/accounting/accountant.h"

/* Both rounded up. */
struct renyi_price {
    double divergence; /* of all outcomes with a finite loss, in both directions, the worse */
    double delta; /* the probability that some (epsilon, delta) part has an outcome without one */
};

/* The price of COMPOSITION at ORDER > 1. False: it has no finite one at this order, or it would
 * take more than some 15 ms to compute. */
bool accountant_renyi_price(const struct composition *composition, double order,
                            struct renyi_price *out);

#endif
