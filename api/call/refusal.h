/* Refusals for want of budget: which accounts cannot pay, what is missing, the largest request that
 * would be paid now, who spent, and how to ask for more.
 *
 * A caller learns nothing of others here: who spent is told to the owner of the account alone, and
 * a client sees of an account what "violated" has always shown. */
#ifndef TACET_API_CALL_REFUSAL_H
#define TACET_API_CALL_REFUSAL_H

#include <stdint.h>

#include "api/wire/problem.h"
#include "storage/ledger/ledger.h"

struct call;

/* What a request consists of: COUNT equal pieces, each with its price on every account, in the
 * order of the outcome's parts. An account may have to pay something beside the pieces, whatever
 * their number is. */
struct refusal_pieces {
    const char *name; /* "states" */
    int64_t count;
    struct refusal_piece {
        int64_t units, delta_units;
    } on[LEDGER_CHARGE_MAX];
};

/* The refusal that a verdict other than LEDGER_OK stands for: 403 budget-exhausted or 409
 * budget-reserved, 403 no-budget, 409 conflict. The first two have "violated", "accounts",
 * "largest" and "ask". PIECES (or NULL: any epsilon and delta may be asked for) is what was asked
 * for. Reads the database. */
enum problem refusal_make(struct call *call, const struct ledger_outcome *outcome,
                          const struct refusal_pieces *pieces);

/* 403 no-budget of a steward who asks its own teacher TEACHER and has no account there. A student
 * without one does not come so far: to it there is no such teacher (teacher_admit). */
enum problem refusal_no_account(struct call *call, const char *teacher);

/* How many of PIECES, at most their count, all accounts of OUTCOME could pay now. */
int64_t refusal_largest(const struct ledger_outcome *outcome, const struct refusal_pieces *pieces);

/* Adds "least" to the problem: the least epsilon and delta (0: it does not matter) that would do.
 */
void refusal_least(struct call *call, double epsilon, double delta);

#endif
