/* How many entries the ledger has had, in the file `ledger.head` beside an SQLite database: an
 * older copy of the database, or one without its log, has fewer. For driver_sqlite.c alone. The
 * file is written after each commit that is on disk, and is not synced itself: the end of a process
 * loses nothing of it, a power cut may leave an older number, and never a higher one. Who replaces
 * both files is not found out. */
#ifndef TACET_STORAGE_DB_SQLITE_HEAD_H
#define TACET_STORAGE_DB_SQLITE_HEAD_H

#include <sqlite3.h>
#include <stdint.h>

/* Entries are only added, so that the newest one's row number is their count. */
#define SQLITE_HEAD_COUNT "SELECT coalesce(max(rowid), 0) FROM ledger_entries"

/* The number in the file beside HANDLE's database; 0: there is none. */
int64_t sqlite_head_read(sqlite3 *handle);

/* Writes COUNT there. *FILE is the descriptor, which the caller keeps and closes; -1: not open yet.
 * A file that cannot be written keeps its older number. */
void sqlite_head_write(sqlite3 *handle, int *file, int64_t count);

#endif
