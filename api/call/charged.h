/* The headers of an answer that charged: Tacet-Price says what the call cost, Tacet-Remaining what
 * is left. Each has an item for every paying account that the caller may see, separated by ", ":
 * epsilon=0.01;delta=0 of the caller's own account, acc_...;epsilon=0.01;delta=0 of one that it
 * owns. A repeat under the same key has the headers of the first answer.
 *
 * DESIGN. Numbers cost more than all the rest of a header, and a teacher's answer has them in its
 * body already. So they are copied from there, and a repeat copies them from the stored body. */
#ifndef TACET_API_CALL_CHARGED_H
#define TACET_API_CALL_CHARGED_H

#include "storage/ledger/ledger.h"

struct call;

#define CHARGED_PRICE     "Tacet-Price"
#define CHARGED_REMAINING "Tacet-Remaining"

/* Adds both headers to the answer for the parts of OUTCOME, whose verdict is LEDGER_OK: what was
 * debited, or HELD for a job. Without an account that the caller may see, none. Comes with the
 * answer, when nothing can fail any more. */
void charged_show(struct call *call, const struct ledger_outcome *outcome, bool held);

/* Adds both headers for the caller's own account, from the body of an answer: COST and REMAINING
 * point at {"epsilon":E,"delta":D in it. A free answer, whose cost is 0, has none. */
void charged_show_amounts(struct call *call, const char *cost, const char *remaining);

/* The same for a stored BODY that ends in a NUL: for an answer of charged_show_amounts. */
void charged_show_stored(struct call *call, const char *body);

#endif
