/* The file of an SQLite database: whose it is, and how it is used. For driver_sqlite.c alone. */
#ifndef TACET_STORAGE_DB_SQLITE_FILE_H
#define TACET_STORAGE_DB_SQLITE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "storage/db/db.h"

#define SQLITE_FILE_APPLICATION_ID 0x54616374 /* "Tact" */
#define SQLITE_FILE_TEXT_SIZE      160        /* of a fault, about a path */

/* Says in FAULT that PATH cannot be used and WHY; gives DB_FAILED. */
enum db_status sqlite_file_refuse(struct db_fault *fault, const char *path, const char *why);

/* Makes the file with our mode, or finds it; *out_empty when there is nothing in it, or nothing but
 * a first page that was never committed. */
enum db_status sqlite_file_find(const char *path, bool *out_empty, struct db_fault *fault);

/* Opens the file of SETTINGS; gives SQLite's code. */
int sqlite_file_open(const struct db_settings *settings, sqlite3 **out);

/* Reads whom the file belongs to from its first page, through SQLite's own descriptor (closing
 * another one would drop this process's locks) and before SQLite has read or locked anything. */
enum db_status sqlite_file_inspect(sqlite3 *handle, const char *path, struct db_fault *fault);

/* The write-ahead log of HANDLE as it was found, so that a replaced one is noticed. */
struct sqlite_log_place {
    unsigned long long device, inode; /* 0, 0: not looked at yet */
};

/* True when HANDLE's file and its log are still where they were opened: not removed, moved or
 * replaced. What is written to them would otherwise be lost when the process ends. */
bool sqlite_file_stands(sqlite3 *handle, struct sqlite_log_place *log);

/* Syncs the folder of HANDLE's file and its log. SQLite does so with the log's first sync, but goes
 * on where that fails: without its name, a log is lost with the power. */
bool sqlite_file_sync_folder(sqlite3 *handle);

/* The number that SQL gives (0: none), and SQLite's code. */
int sqlite_ask(sqlite3 *handle, const char *sql, long long *out);

/* Runs FORMAT, which prints VALUE. */
bool sqlite_pragma(sqlite3 *handle, const char *format, long long value);

/* As check of struct db_driver. */
enum db_status sqlite_file_check(sqlite3 *handle, const char *const *but, struct db_fault *fault);

/* As copy of struct db_driver. The pages keep their places, so that later copies have most in
 * common. */
enum db_status sqlite_file_copy(sqlite3 *handle, const char *path, struct db_fault *fault);

/* Turns the write-ahead log on; false: it is not. */
bool sqlite_use_log(sqlite3 *handle);

#endif
