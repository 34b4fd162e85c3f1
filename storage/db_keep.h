/* Rows that a batch keeps in memory and writes once, for files of this room alone.
 *
 * Only a hopeful batch keeps (db.c): there nothing is undone but the whole, so what is kept can be
 * dropped with it, and the gate and BEGIN IMMEDIATE see to it that nobody else changes the rows. */
#ifndef TACET_STORAGE_DB_KEEP_H
#define TACET_STORAGE_DB_KEEP_H

#include "storage/db.h"

struct db_keeper {
    size_t size;                                        /* of what is kept; zeroed at first */
    enum db_status (*write)(struct db *db, void *kept); /* before the batch's commit */
    void (*forget)(void *kept);                         /* after its end, whichever it was */
};

/* What KEEPER keeps on this connection; NULL outside of a hopeful batch, in one that is lost, and
 * when memory is short: the caller then works on the rows themselves. A connection has one keeper.
 */
void *db_kept(struct db *db, const struct db_keeper *keeper);

#endif
