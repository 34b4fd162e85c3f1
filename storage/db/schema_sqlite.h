/* The tables, in SQLite's types. */
#ifndef TACET_STORAGE_DB_SCHEMA_SQLITE_H
#define TACET_STORAGE_DB_SCHEMA_SQLITE_H

#include "storage/db/db.h"

extern const struct db_schema schema_sqlite;

#endif
