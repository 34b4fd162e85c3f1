/* What a restored ledger pays for the life that was lost. Proof: docs/proofs/restore.md.
 *
 * The marks (storage/marks) say what each account has spent and held at most. All holds end: shares
 * are paid for, and of jobs nothing. Then every account spends what is missing up to its mark, or
 * all that it has, where there is no mark. A share spends no more than was set aside for it. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_RESTORE_H
#define TACET_STORAGE_LEDGER_LEDGER_RESTORE_H

#include "storage/ledger/ledger.h"
#include "storage/marks/marks.h"

struct ledger_restored {
    int64_t accounts;
    int64_t burnt;  /* of them, those that paid up to their marks */
    int64_t closed; /* those without a mark */
    int64_t holds;  /* that were ended */
    double most;    /* the greatest part of a limit that an account with a mark paid */
};

/* Burns every account of the ledger by MARKS, in the caller's transaction. Those that were opened
 * up to LOST_MS count as without one: it may be lower than a mark that was lost. RESOURCE and EVENT
 * stand in the entries. */
enum db_status ledger_restore(struct db *db, const struct marks *marks, int64_t lost_ms,
                              const char *resource, const char *event, int64_t now_ms,
                              struct ledger_restored *out);

/* What restores have burnt of ACCOUNT: it is among what is spent. */
enum db_status ledger_burnt(struct db *db, const char *account, int64_t *out_units,
                            int64_t *out_delta);

#endif
