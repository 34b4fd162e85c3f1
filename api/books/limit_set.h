/* The one way in which the limit of an account is checked and set, for a change that is made at
 * once and for one that a second steward approves. */
#ifndef TACET_API_BOOKS_LIMIT_SET_H
#define TACET_API_BOOKS_LIMIT_SET_H

#include "api/call/call.h"
#include "storage/ledger/ledger.h"

/* A change of an account's limit. Texts are borrowed. */
struct limit_set {
    struct ledger_account account;    /* as it stands */
    int64_t revision;                 /* of the limit that is changed */
    double epsilon, delta;            /* the new limit */
    int64_t approvals;                /* from then on; 0: as before */
    int64_t limit_units, limit_delta; /* limit_check sets them */
    const char *reason, *proposer;
    const char *change, *approver; /* the proposal and who approved it; NULL: none was needed */
};

/* Checks that the limit may be changed so now: it can be counted, is not below what is spent and
 * held, and no certificate promises the old one for ever. */
enum problem limit_check(struct call *call, struct limit_set *set);

/* Sets the limit, after limit_check in the same transaction, and answers with the account. */
enum problem limit_apply(struct call *call, const struct limit_set *set,
                         struct ledger_account *out);

#endif
