/* The waist: one connection to a database, six driver functions below it, four kinds of outcome above. Every query is
 * written once, in the SQL that SQLite and PostgreSQL share; a second database is a second driver file. */
#ifndef TACET_STORAGE_DB_H
#define TACET_STORAGE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum db_status {
    DB_OK,
    DB_NONE,   /* no row; or a condition of the statement did not hold */
    DB_RETRY,  /* another writer was in the way: nothing happened, the transaction may run again */
    DB_FULL,   /* the disk is full or read-only: nothing was stored, the process may go on */
    DB_FAILED, /* anything else; db_broken tells whether the process must stop */
};

enum db_type { DB_NULL, DB_INTEGER, DB_REAL, DB_TEXT, DB_BYTES };

/* An argument of a statement or a column of a row. Texts and bytes are borrowed; those of a row live until the row
 * function returns. */
struct db_value {
    enum db_type type;
    int64_t integer;
    double real;
    const void *bytes; /* text is NUL-terminated too */
    size_t size;       /* without the NUL */
};

struct db_value db_null(void);
struct db_value db_integer(int64_t integer);
struct db_value db_real(double real);
struct db_value db_text(const char *text); /* NULL gives DB_NULL */
struct db_value db_bytes(const void *bytes, size_t size);

/* One row; false ends the reading early (the outcome is DB_OK still). */
typedef bool (*db_row)(void *context, const struct db_value *columns, unsigned count);

struct db; /* a connection: used by one thread at a time */

/* What a database must be able to do. `connection` is the driver's own. */
struct db_driver {
    const char *name;
    enum db_status (*open)(const char *location, void *shared, void **out_connection, char *error, size_t error_size);
    void (*close)(void *connection);
    enum db_status (*begin)(void *connection, bool will_write);
    enum db_status (*commit)(void *connection);
    void (*rollback)(void *connection);
    /* Runs one statement; SQL has the life of the process (it keys the cache of prepared statements). DB_NONE when
     * no row was returned and none was changed. */
    enum db_status (*run)(void *connection, const char *sql, const struct db_value *arguments, unsigned count,
                          db_row row, void *context);
    bool (*broken)(const void *connection); /* an fsync or commit failed in a way that leaves durability unknown */
    const char *(*last_error)(const void *connection); /* for the log; never holds values of arguments */
    void *(*shared_new)(void); /* state that connections of one process share, e.g. the queue of writers */
    void (*shared_free)(void *shared);
};

extern const struct db_driver db_sqlite;

/* One database as this process sees it; connections are opened from it by any thread. */
struct db_store;
struct db_store *db_store_new(const struct db_driver *driver, const char *location);
void db_store_free(struct db_store *store); /* after its connections */

/* Opens a connection. On anything but DB_OK *out_db is untouched and ERROR holds a sentence: not a database, another
 * program's, of a newer schema. */
enum db_status db_open(struct db_store *store, struct db **out_db, char *error, size_t error_size);
void db_close(struct db *db);

bool db_broken(const struct db *db);
const char *db_last_error(const struct db *db);

/* ---- statements */

enum db_status db_run(struct db *db, const char *sql, const struct db_value *arguments, unsigned count, db_row row,
                      void *context);
/* A statement without rows. */
enum db_status db_exec(struct db *db, const char *sql, const struct db_value *arguments, unsigned count);

#define DB_COUNT(arguments) ((unsigned)(sizeof(arguments) / sizeof((arguments)[0])))

/* Copies a text column into a fixed array; a longer text is cut (columns are bounded where they are written). */
void db_copy_text(char *out, size_t size, const struct db_value *column);
int64_t db_as_integer(const struct db_value *column);
double db_as_real(const struct db_value *column);
/* malloc'ed copy of bytes (at least 1 byte long, NUL-terminated); NULL when memory is short. */
unsigned char *db_take_bytes(const struct db_value *column, size_t *out_size);

/* ---- transactions */

/* WORK inside a transaction: DB_OK commits; anything else rolls back and is given back. With a transaction already
 * open on this connection (a batch, or an outer db_transact) it becomes a savepoint, rolled back alone. Outside, it is
 * run again on DB_RETRY, a bounded number of times: WORK changes nothing but the database and CONTEXT. */
typedef enum db_status (*db_work)(struct db *db, void *context);
enum db_status db_transact(struct db *db, db_work work, void *context);

/* One transaction for many requests: each uses db_transact inside, replies leave after db_commit_batch gave DB_OK.
 * After a failed commit call db_rollback_batch. */
enum db_status db_begin_batch(struct db *db, bool will_write);
enum db_status db_commit_batch(struct db *db);
void db_rollback_batch(struct db *db);

/* ---- schema */

/* Brings the schema to this program's version in one transaction each; DB_FAILED with ERROR when the database is of a
 * newer one. */
enum db_status db_migrate(struct db *db, char *error, size_t error_size);

#endif
