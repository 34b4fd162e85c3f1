/* Values of db.h in statements of SQLite. For driver_sqlite.c alone. */
#ifndef TACET_STORAGE_DB_SQLITE_VALUES_H
#define TACET_STORAGE_DB_SQLITE_VALUES_H

#include <sqlite3.h>

#include "storage/db/db.h"

/* Binds VALUE, whose bytes must live until the statement is reset, to parameter INDEX (from 1). */
int sqlite_bind(sqlite3_stmt *stmt, int index, const struct db_value *value);

/* Shows the row that STMT stands at to EACH: what that says. */
enum db_status sqlite_show_row(sqlite3_stmt *stmt, db_row_fn *each, void *context);

#endif
