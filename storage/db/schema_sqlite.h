/* The tables, in SQLite's types; schema_postgres.c translates them. */
#ifndef TACET_STORAGE_DB_SCHEMA_SQLITE_H
#define TACET_STORAGE_DB_SCHEMA_SQLITE_H

#include "storage/db/db.h"

#define SCHEMA_SQLITE_OLDEST 11

/* Lists that end in NULL. */
extern const char *const schema_sqlite_tables[];
extern const char *const *const schema_sqlite_steps[];

extern const struct db_schema schema_sqlite;

#endif
