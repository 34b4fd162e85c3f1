/* What a store and a connection are inside: for the files of this room alone. */
#ifndef TACET_STORAGE_DB_DB_STATE_H
#define TACET_STORAGE_DB_DB_STATE_H

#include <pthread.h>

#include "memory/buffer.h"
#include "storage/db/db.h"

#define CAREFUL_BATCHES 64  /* with savepoints, after a hopeful one was lost */
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

struct db {
    struct db_store *store;
    const struct db_driver *driver;
    void *connection;
    struct db_fault fault;
    char damage[DB_ERROR_SIZE]; /* the row of digest.h's last failure; "": none, or it was told */
    char told[DB_ERROR_SIZE];
    enum mode mode;
    bool goes_first;
    enum db_status lost; /* not DB_OK: the transaction ended early, by this */
    bool hopeful;        /* in a batch without savepoints */
    unsigned careful;    /* batches to come that take savepoints */
    void *batch_state;   /* of the open batch; NULL: none */
    db_batch_write_fn *batch_write;
    struct db_sql texts[DB_SQL_TEXTS];
};

/* The place of the text that belongs to OWNER and the literal TAIL (or NULL). */
struct db_sql *db_sql_of(struct db *db, const void *owner, const char *tail);

#endif
