/* How every change of the ledger is written: one entry and the balances it moves. For the files of
 * the ledger alone. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_POST_H
#define TACET_STORAGE_LEDGER_LEDGER_POST_H

#include "storage/ledger/ledger_chain.h"
#include "storage/marks/marks.h"

/* Appends ENTRY (time, kind, effects, client, resource, event, and for "limit" the declared budget)
 * to *ACCOUNT as it was read in this transaction: fills in account, sequence and hashes, inserts
 * it, moves the balances, and updates *ACCOUNT. The effects must fit: the caller has looked.
 * DB_RETRY when another transaction was here meanwhile. */
enum db_status ledger_post(struct db *db, struct ledger_account *account,
                           struct ledger_entry *entry);

/* Changes the account's row from BEFORE to AFTER, and appends it to the log (ledger_log.h).
 * DB_NONE: it is not as BEFORE says, or AFTER is beyond its limit. */
enum db_status ledger_move_row(struct db *db, const struct ledger_account *before,
                               const struct ledger_account *after);

/* Copies the account as it stands in the open batch to *OUT. False: the batch does not keep it. */
bool ledger_batch_find(struct db *db, const char *id, struct ledger_account *out);

/* Keeps ACCOUNT, just read, until the batch ends; does nothing outside of a batch that keeps. */
void ledger_batch_keep(struct db *db, const struct ledger_account *account);

/* Moves a kept account to AFTER. False: it is not kept; the row has to be changed. */
bool ledger_batch_move(struct db *db, const struct ledger_account *after);

/* Writes what is kept. Call it before SQL that reads ledger_accounts in another way than
 * ledger_find. */
enum db_status ledger_batch_write(struct db *db);

/* Reads the accounts of CHARGE into OUT's parts and says what paying it would be: LEDGER_OK or why
 * not. Nothing is changed. */
enum db_status ledger_weigh(struct db *db, const struct ledger_charge *charge,
                            struct ledger_outcome *out);

/* Writes the name of ACCOUNT's mark. */
void ledger_mark_name(const struct ledger_account *account, char out[MARKS_NAME_SIZE]);

/* Notes for its mark that an account's row goes from BEFORE to AFTER. */
void ledger_note_mark(struct db *db, const struct ledger_account *before,
                      const struct ledger_account *after);

/* Spends of *ACCOUNT, which holds nothing, what is missing up to MARK, with an entry "restored",
 * and raises its limit before where that is less. */
enum db_status ledger_burn(struct db *db, struct ledger_account *account, const struct mark *mark,
                           const char *resource, const char *event, int64_t now_ms);

struct ledger_report;

/* Adds a fault to what ledger_verify finds. */
void ledger_report_fault(struct ledger_report *report, const char *account, int64_t sequence,
                         const char *what);

/* Adds to REPORT what is wrong with the log: its tree, or a difference from the accounts and their
 * entries (where they are not folded). */
enum db_status ledger_log_verify(struct db *db, struct ledger_report *report);

#endif
