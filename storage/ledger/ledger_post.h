/* How every change of the ledger is written: one entry and the balances it moves. For the files of
 * the ledger alone. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_POST_H
#define TACET_STORAGE_LEDGER_LEDGER_POST_H

#include "storage/ledger/ledger.h"

/* Columns of ledger_accounts in the order that ledger_account_read expects. */
#define LEDGER_ACCOUNT_COLUMNS                                                                     \
    "id, kind, resource, client, owner, unit, renyi_order, epsilon, delta, limit_units, "          \
    "spent_units, held_units, limit_delta, spent_delta, held_delta, entries, head, created_ms, "   \
    "number"

/* A row as a struct; false when it is not one that we wrote. */
bool ledger_account_read(const struct db_row *row, struct ledger_account *out);

/* Hash of what an account is, fixed for ever: the first entry's previous hash. */
void ledger_genesis(const struct ledger_account *account, unsigned char out[LEDGER_HASH_SIZE]);

/* Hash of all of an entry but its own hash. */
void ledger_entry_hash(const struct ledger_entry *entry, unsigned char out[LEDGER_HASH_SIZE]);

/* ACCOUNT with ENTRY's effects added; false, and nothing done, when a balance would overflow, go
 * below 0, or spent + held above the limit. */
bool ledger_apply(struct ledger_account *account, const struct ledger_entry *entry);

/* Appends ENTRY (time, kind, effects, client, resource, event, and for "limit" the declared budget)
 * to *ACCOUNT as it was read in this transaction: fills in account, sequence and hashes, inserts
 * it, moves the balances, and updates *ACCOUNT. The effects must fit: the caller has looked.
 * DB_RETRY when another transaction was here meanwhile. */
enum db_status ledger_post(struct db *db, struct ledger_account *account,
                           struct ledger_entry *entry);

/* ---- balances that a batch keeps (ledger_desk.c)
 *
 * Tens of thousands of debits a second fall on a few accounts. A batch reads each account once,
 * gathers its entries and moves its balances in memory, and writes both once before its commit. */

/* The account as it stands in this batch: true and a copy in *OUT when it is kept. */
bool ledger_desk_find(struct db *db, const char *id, struct ledger_account *out);

/* Keeps ACCOUNT, as it was just read. Nothing happens outside of a batch that keeps, or when there
 * is no room. */
void ledger_desk_put(struct db *db, const struct ledger_account *account);

/* Keeps ENTRY and moves its account from BEFORE to AFTER, in memory; *out_status says how it went.
 * False: the account is not kept, both must be written. */
bool ledger_desk_post(struct db *db, const struct ledger_account *before,
                      const struct ledger_account *after, const struct ledger_entry *entry,
                      enum db_status *out_status);

/* Writes what is kept, so that SQL sees it. To be called before any statement that reads
 * ledger_blocks, or ledger_accounts in another way than ledger_find. */
enum db_status ledger_desk_write(struct db *db);

/* The row itself: DB_NONE when it is not as BEFORE says, or AFTER is beyond its limit. */
enum db_status ledger_move_row(struct db *db, const struct ledger_account *before,
                               const struct ledger_account *after);

/* Reads the accounts of CHARGE into OUT's parts and says what paying it would be: LEDGER_OK or why
 * not. Nothing is changed. */
enum db_status ledger_weigh(struct db *db, const struct ledger_charge *charge,
                            struct ledger_outcome *out);

#endif
