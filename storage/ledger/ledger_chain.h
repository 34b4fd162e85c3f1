/* What anyone needs who checks the ledger again: the rows' columns, the hashes that chain entries,
 * and how an entry moves balances. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_CHAIN_H
#define TACET_STORAGE_LEDGER_LEDGER_CHAIN_H

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

#endif
