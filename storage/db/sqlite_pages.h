/* A checksum in every page of an SQLite database: what the disk changed is an error when it is
 * read. For driver_sqlite.c and sqlite_file.c. */
#ifndef TACET_STORAGE_DB_SQLITE_PAGES_H
#define TACET_STORAGE_DB_SQLITE_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define SQLITE_PAGES_BYTES     8192 /* of a page: a batch writes fewer of them than with 4096 */
#define SQLITE_PAGES_SUM_BYTES 8    /* at the end of a page */

/* The name of a VFS that is UNDER (a name; NULL: SQLite's default) with sums. Databases that were
 * made without sums work as they did. */
const char *sqlite_pages_vfs(const char *under);

/* Gives sums to the database of HANDLE, in which nothing has been written. */
void sqlite_pages_begin(sqlite3 *handle);

/* Sees whether the database of HANDLE has sums, by its first bytes. */
void sqlite_pages_look(sqlite3 *handle);

/* Whether the database of HANDLE has sums, as far as it was read or written. */
bool sqlite_pages_begun(sqlite3 *handle);

/* Whether a page of HANDLE's database was read that is not as it was written. */
bool sqlite_pages_damaged(sqlite3 *handle);

/* Writes what the error CODE of HANDLE is to TEXT: which page is damaged, or what SQLite says. */
void sqlite_pages_explain(sqlite3 *handle, int code, char *text, size_t size);

#endif
