/* The write-ahead log, where there is one: how long it is, and emptying it.
 *
 * A commit appends to the log; a checkpoint moves what is in it to its place, which takes as long
 * as thousands of commits. A connection does that itself now and then, unless its owner has
 * somebody else for it. */
#ifndef TACET_STORAGE_DB_DB_LOG_H
#define TACET_STORAGE_DB_DB_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "storage/db/db.h"

/* From now on DB leaves it to its owner to empty the log, and helps itself only when that is not
 * done for long. False: this database has no such log, and nothing is to be done. */
bool db_leave_log(struct db *db);

/* Blocks of the log after the last commit of DB; 0 where there is none. */
size_t db_log_blocks(const struct db *db);

/* Moves what is in the log to its place, durably, without waiting for anybody; it may be another
 * connection's thread, while DB writes. A log that was emptied whole begins anew at the next
 * commit. *out_left (may be NULL): blocks that were added meanwhile or that a reader still needs.
 * Not DB_OK: see db_broken; DB_RETRY: somebody else is at it. DB must be idle. */
enum db_status db_checkpoint(struct db *db, size_t *out_left);

#endif
