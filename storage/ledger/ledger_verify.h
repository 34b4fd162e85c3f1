/* The auditor: recomputes every balance and every hash of the ledger from its entries. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_VERIFY_H
#define TACET_STORAGE_LEDGER_LEDGER_VERIFY_H

#include "storage/ledger/ledger.h"

#define LEDGER_FAULTS_MAX 16 /* faults that a report describes; all are counted */

struct ledger_fault {
    char account[ID_SIZE];
    int64_t sequence; /* the entry, or 0 for the account as a whole */
    char what[120];   /* a sentence */
};

struct ledger_report {
    int64_t accounts, entries, open_holds;
    int64_t folded;      /* of the entries, those that folds count */
    int64_t fault_count; /* 0: the ledger is whole */
    unsigned described;
    struct ledger_fault faults[LEDGER_FAULTS_MAX];
    /* BLAKE2b-256 over (id, head) of all accounts in order of id: one number that stands
     * for the whole ledger. */
    unsigned char head[LEDGER_HASH_SIZE];
    int64_t leaves;                       /* of the log (ledger_log.h) */
    unsigned char root[LEDGER_HASH_SIZE]; /* of its tree; zeros when there are faults */
};

/* Reads the whole ledger once, in one view, in constant memory: sequences have no gaps, hashes
 * chain, folds (ledger_fold.h) have their digests, effects add up to the balances, 0 <= spent +
 * held <= limit after every entry, open holds add up to what is held, no entry belongs to no
 * account, and the log has what the accounts have. DB_OK with the report filled; some hundred
 * thousand entries a second. */
enum db_status ledger_verify(struct db *db, struct ledger_report *out);

#endif
