/* Opens a database of any earlier version of the program. */
#ifndef TACET_STORAGE_UPGRADE_H
#define TACET_STORAGE_UPGRADE_H

#include "storage/db/db.h"

/* Brings the database of DB to the schema of this program: migrate (migrate.h) with the steps that
 * SQL cannot do. Before it changes anything it reads all tables and indexes, but the bytes of
 * uploads, and the name of the key. Not DB_OK: ERROR holds a sentence, and every version that was
 * not applied whole has left no trace. */
enum db_status storage_upgrade(struct db *db, char error[DB_ERROR_SIZE]);

/* Whether the database has a service already, which is bound to its key. Outside of transactions.
 */
bool storage_is_in_use(struct db *db);

/* Reads what ledger_verify and answers_verify do not: every other table with its indexes, but the
 * bytes of uploads, of which there may be more than a start can read. DB_FAILED: ERROR names a
 * table that is damaged. */
enum db_status storage_check(struct db *db, char error[DB_ERROR_SIZE]);

#endif
