/* Entries of the versions that kept them as lines. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_UPGRADE_H
#define TACET_STORAGE_LEDGER_LEDGER_UPGRADE_H

#include "storage/db/db.h"

/* Copies the entries of ledger_blocks (schema versions 2 to 11) into rows of ledger_entries, and
 * checks that every account ends with the count and the hash that its own row has. Not DB_OK: ERROR
 * says what does not fit. */
enum db_status ledger_upgrade(struct db *db, char error[DB_ERROR_SIZE]);

#endif
