/* Folds: old debits of an account as one entry, so that a ledger that is charged without a pause
 * takes a bounded disk (docs/operating.md says what an auditor loses).
 *
 * DESIGN. A fold stands in the place of the last entry that it counts, with its time and its hash,
 * so that the entry behind it still follows that hash. Its event holds what is known of the first:
 *
 *   {"type":"FoldedEntries","first_sequence":2,"count":99,"first_time_ms":1800000000000,
 *    "previous_hash":"64 digits","digest":"32 digits"}
 *
 * previous_hash is that of the entry before the first. The hash of a fold cannot be computed from
 * what it says, so its digest is keyed (db/digest.h). Every entry is read and its hash is checked
 * before it goes. Only debits are folded, and not those of datasets and shares: what was released
 * about experts stays in full. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_FOLD_H
#define TACET_STORAGE_LEDGER_LEDGER_FOLD_H

#include "storage/ledger/ledger.h"

/* What an entry of kind LEDGER_ENTRY_FOLDED counts, up to its own sequence and time. */
struct ledger_fold {
    int64_t first, first_ms; /* sequence and time of the first */
    unsigned char previous_hash[LEDGER_HASH_SIZE];
};

/* Reads the fold that ENTRY is. False: it is none that this program made. */
bool ledger_fold_read(const struct ledger_entry *entry, struct ledger_fold *out);

/* The same, and the digest holds: it is as it was stored under the store's key. */
bool ledger_fold_holds(const struct db *db, const struct ledger_entry *entry,
                       struct ledger_fold *out);

struct ledger_sweep {
    int64_t from_ms; /* debits of before are folded */
    int64_t now_ms;
    int64_t seen; /* the last row that earlier calls have seen; at first 0 */
    bool more;    /* out: call again */
};

/* Folds some debits, in one transaction and in the order in which they were stored. No balance and
 * no hold changes. DB_FAILED: or an entry is not what its hash says. Then db_last_error names it,
 * the debits that these rows have of its account stay, and all others are folded. One thread at a
 * time.
 */
enum db_status ledger_fold(struct db *db, struct ledger_sweep *sweep);

#endif
