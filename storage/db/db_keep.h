/* Rows that a batch keeps in memory, to write them once or to read them once, for files of this
 * room alone.
 *
 * Only a hopeful batch keeps (db.c): there nothing is undone but the whole, so what is kept can be
 * dropped with it, and the gate and BEGIN IMMEDIATE see to it that nobody else changes the rows.
 * What is kept serves the next batches too, as long as nobody but this connection's hopeful batches
 * commits: the first that sees another's commit begins with nothing. */
#ifndef TACET_STORAGE_DB_DB_KEEP_H
#define TACET_STORAGE_DB_DB_KEEP_H

#include <stdbool.h>

#include "storage/db/db.h"

enum db_keep { DB_KEEP_ACCOUNTS, DB_KEEP_CLIENTS, DB_KEEP_STANDINGS, DB_KEEP_ANSWERS, DB_KEEPS };

struct db_keeper {
    enum db_keep place; /* each keeper's own */
    size_t size;        /* of what is kept; zeroed at first */
    /* Before the batch's commit; or NULL. */
    enum db_status (*write)(struct db *db, void *kept);
    /* After its commit: what stays is what the database says. */
    void (*committed)(struct db *db, void *kept);
    void (*forget)(struct db *db, void *kept);
};

/* What KEEPER keeps on this connection; NULL outside of a hopeful batch, in one that is lost, and
 * when memory is short: the caller then works on the rows themselves. */
void *db_kept(struct db *db, const struct db_keeper *keeper);

/* To be called when what is kept came to say more than the rows do: a request that fails after it
 * has changed something in memory alone must be undone like any other. */
void db_keep_changed(struct db *db);

/* Whether the open transaction has changed nothing so far, or none is open: all that the connection
 * sees is committed. */
bool db_unchanged(const struct db *db);

/* ---- what the connections of a store share in memory */

enum db_share { DB_SHARE_ANSWERS, DB_SHARES };

struct db_sharer {
    enum db_share place;        /* each sharer's own */
    void *(*make)(void);        /* at the first use; NULL: memory is short */
    void (*free)(void *shared); /* with the store */
};

/* What SHARER shares in this store; it brings a lock of its own. NULL: memory is short. */
void *db_shared(struct db *db, const struct db_sharer *sharer);

#endif
