/* What a store and a connection are inside: for the files of this room alone. */
#ifndef TACET_STORAGE_DB_DB_STATE_H
#define TACET_STORAGE_DB_DB_STATE_H

#include <pthread.h>

#include "memory/buffer.h"
#include "storage/db/db.h"

#define CAREFUL_BATCHES 64 /* with savepoints, after a hopeful one was lost */
#define DB_LATER_TABLES 2
#define DB_SQL_TEXTS    256 /* a power of two, well above the number of table statements */

struct db_store {
    const struct db_driver *driver;
    struct db_settings settings;
    char *location;
    unsigned char digest_key[DB_KEY_SIZE];
    struct db_guard *guard; /* NULL: none */
    /* Writers take a number and are served in turn. The one that goes first waits for one other at
     * most: after it, one of those in turn is owed the next place. */
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t next, serving;
    bool taken, first_waits, owed;
};

enum mode { IDLE, READING, WRITING };

/* The text of a statement that is put together: see table.c. */
struct db_sql {
    const void *owner;
    const char *tail;
    char *text; /* NULL: not yet */
    size_t size;
};

struct db_batch_state {
    db_batch_write_fn *write;
    void *state; /* NULL: no such state */
};

/* Values with the bytes that they name. */
struct db_cells {
    struct db_cells *next;
    unsigned count;
    struct db_value values[];
};

/* What a statement gave in the open batch. */
struct db_known {
    struct db_known *next;
    const char *sql;
    struct db_cells *values, *rows;
};

/* Rows that are to be inserted by SQL, which takes a list for each column. */
struct db_later {
    const char *sql; /* NULL: none */
    struct db_cells *first, **end;
    unsigned count;
};

struct db {
    struct db_store *store;
    const struct db_driver *driver;
    void *connection;
    struct db_fault fault;
    char told[DB_ERROR_SIZE];
    enum mode mode;
    bool goes_first;
    enum db_status lost; /* not DB_OK: the transaction ended early, by this */
    bool hopeful;        /* in a batch without savepoints */
    unsigned careful;    /* batches to come that take savepoints */
    /* Of the open batch (db_batch.c): */
    struct db_batch_state states[DB_BATCH_STATES];
    struct db_known *known;
    unsigned known_count;
    int64_t known_at; /* db_changes less `appended` when it was remembered */
    struct db_later later[DB_LATER_TABLES];
    unsigned later_count; /* rows in them all */
    size_t later_bytes;
    int64_t appended; /* rows, by table_append */
    struct db_sql texts[DB_SQL_TEXTS];
};

/* Rows that the connection has changed since it was opened, and those that are put off. */
int64_t db_changes(const struct db *db);

/* As db_run, without what is put off. */
enum db_status db_run_now(struct db *db, const char *sql, const struct db_value *values,
                          unsigned count, db_row_fn *each, void *context);

/* Whether rows may be put off now. */
bool db_may_put_off(const struct db *db);

/* Puts off a row of COUNT values that SQL inserts, with a list for each of them. */
enum db_status db_put_off(struct db *db, const char *sql, const struct db_value *values,
                          unsigned count);

/* Sends what is put off. Not DB_OK: the batch is lost. */
enum db_status db_send_rows(struct db *db);

/* Writes the states of the open batch and sends what is put off. Not DB_OK: the batch is lost. */
enum db_status db_batch_write(struct db *db);

/* Forgets all of the batch. */
void db_batch_forget(struct db *db);

/* Loses the open transaction, with everything in it, by STATUS. */
enum db_status db_lose(struct db *db, enum db_status status);

/* The place of the text that belongs to OWNER and the literal TAIL (or NULL). */
struct db_sql *db_sql_of(struct db *db, const void *owner, const char *tail);

#endif
