/* The tables, in SQLite's types. */
#ifndef TACET_STORAGE_DB_SCHEMA_SQLITE_H
#define TACET_STORAGE_DB_SCHEMA_SQLITE_H

/* schema_sqlite[v - 1]: the statements of version v; both lists end in NULL. */
extern const char *const *const schema_sqlite[];

extern const char *const schema_sqlite_10[]; /* schema_sqlite_later.c, for that array */
extern const char *const schema_sqlite_11[];
extern const char *const schema_sqlite_12[];
extern const char *const schema_sqlite_13[];

#endif
