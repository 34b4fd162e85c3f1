/* The headers of an answer that charged: Tacet-Price says what the call cost, Tacet-Remaining what
 * is left. Each has an item for every paying account that the caller may see (its own, or those it
 * owns): acc_...;epsilon=0.01;delta=0, separated by ", ". They are stored with the answer. */
#ifndef TACET_API_CALL_CHARGED_H
#define TACET_API_CALL_CHARGED_H

#include "api/call/budget.h"
#include "storage/ledger/ledger.h"

struct call;

#define CHARGED_PRICE     "Tacet-Price"
#define CHARGED_REMAINING "Tacet-Remaining"

/* Adds both headers to the answer for the parts of OUTCOME, whose verdict is LEDGER_OK: what was
 * debited, or HELD for a job. Without an account that the caller may see, none. Comes with the
 * answer, when nothing can fail any more. */
void charged_show(struct call *call, const struct ledger_outcome *outcome, bool held);

/* Adds both headers for ACCOUNT alone. */
void charged_show_one(struct call *call, const char *account, struct budget_sum price,
                      struct budget_sum remaining);

#endif
