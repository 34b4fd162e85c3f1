/* Who spent from an account. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_SPENDERS_H
#define TACET_STORAGE_LEDGER_LEDGER_SPENDERS_H

#include "storage/ledger/ledger.h"

#define LEDGER_SPENDERS_ENTRIES 10000 /* entries that one call adds up; some milliseconds */

struct ledger_spender {
    char client[ID_SIZE];
    int64_t spent_units, spent_delta; /* of the account, in its units */
};

typedef bool ledger_spender_fn(void *context, const struct ledger_spender *spender);

/* Shows at most LIMIT clients that spent from ACCOUNT, the largest first. A teacher's account has
 * paid what its clients' accounts have paid, so these are read; the entries of any other account
 * are added up. DB_NONE: those are more than LEDGER_SPENDERS_ENTRIES. Within a batch, what the
 * batch has put off is not seen: writing it here would cost the batch its hope (db.h). EACH may
 * stop by false. */
enum db_status ledger_spenders(struct db *db, const struct ledger_account *account, unsigned limit,
                               ledger_spender_fn *each, void *context);

#endif
