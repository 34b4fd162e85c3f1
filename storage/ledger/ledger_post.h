/* How every change of the ledger is written: one entry and the balances it moves. For the files of
 * the ledger alone. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_POST_H
#define TACET_STORAGE_LEDGER_LEDGER_POST_H

#include "storage/db/table.h"
#include "storage/ledger/ledger.h"

extern const struct table ledger_accounts_table; /* rows: struct ledger_account */
extern const struct table ledger_entries_table;  /* rows: struct ledger_entry, no previous_hash */

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

/* Reads the accounts of CHARGE into OUT's parts and says what paying it would be: LEDGER_OK or why
 * not. Nothing is changed. */
enum db_status ledger_weigh(struct db *db, const struct ledger_charge *charge,
                            struct ledger_outcome *out);

#endif
