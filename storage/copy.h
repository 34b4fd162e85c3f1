/* Moves all rows of one database to an empty one of another kind. */
#ifndef TACET_STORAGE_COPY_H
#define TACET_STORAGE_COPY_H

#include "storage/db/db.h"

struct storage_copied {
    int64_t tables, rows;     /* all of them */
    int64_t entries, answers; /* of the ledger and of keys, among the rows */
};

/* Makes the newest schema in TO, which has no service, copies every table of FROM, which has the
 * newest schema and whose rows nobody changes meanwhile, and reads all of it back: each table has
 * the same rows, the ledger adds up to its balances and heads, and each answer is as it was stored.
 * All of it is one transaction of TO. Both stores have the same digest key. Not DB_OK: ERROR holds
 * a sentence, and TO is as it was, unless it is db_broken. */
enum db_status storage_copy(struct db *from, struct db *to, struct storage_copied *out,
                            char error[DB_ERROR_SIZE]);

#define STORAGE_PLACE_SIZE 64

/* Which database of which cluster TO is, a database of PostgreSQL: two numbers that no other one
 * has. The text goes to OUT. */
enum db_status storage_place(struct db *to, char out[STORAGE_PLACE_SIZE]);

#endif
