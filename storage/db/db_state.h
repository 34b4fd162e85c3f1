/* What a store and a connection are inside: for db.c and db_connection.c alone. */
#ifndef TACET_STORAGE_DB_DB_STATE_H
#define TACET_STORAGE_DB_DB_STATE_H

#include <pthread.h>

#include "storage/db/db.h"
#include "storage/db/db_keep.h"
#include "storage/db/gate.h"

struct db_store {
    const struct db_driver *driver;
    struct db_settings settings;
    char *location;
    struct gate gate;
    pthread_mutex_t lock; /* of what is shared */
    struct {
        const struct db_sharer *sharer;
        void *what; /* made at the first use */
    } shared[DB_SHARES];
};

enum mode { IDLE, READING, WRITING };

struct db {
    struct db_store *store;
    const struct db_driver *driver;
    void *connection;
    struct db_fault fault;
    enum mode mode;
    enum db_status lost;   /* not DB_OK: the transaction ended early, by this */
    bool hopeful;          /* in a batch without savepoints */
    uint64_t kept_changes; /* made in memory so far */
    uint64_t begun;        /* changes before the open transaction */
    unsigned careful;      /* batches to come that take savepoints */
    bool keeps;            /* what is kept was true when the database had the version KEPT_AT */
    unsigned kept_at;
    struct {
        const struct db_keeper *keeper;
        void *rows; /* made at the first use */
    } kept[DB_KEEPS];
};

#endif
