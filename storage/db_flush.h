/* Committing now and waiting for the disk later, on another thread.
 *
 * A connection that commits early makes its changes visible at once and durable only by the next
 * flush. So the writer works on the next batch while the disk works on the last one; whoever waits
 * for durability waits for the flush. Commits of all other connections stay durable by themselves,
 * and include everything that was committed early before them. */
#ifndef TACET_STORAGE_DB_FLUSH_H
#define TACET_STORAGE_DB_FLUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "storage/db.h"

struct db_flusher;

/* Lets DB, which is idle, commit early from now on, and opens the flusher that belongs to it (for
 * one thread at a time, which need not be DB's). NULL when this database cannot, or memory is
 * short: DB's commits are durable as before. */
struct db_flusher *db_commit_early(struct db *db);

/* Waits until everything that was committed before the call is on disk. False: nobody knows what
 * is; the process must stop without another reply. */
bool db_flush(struct db_flusher *flusher);

/* Blocks of the write-ahead log after the last commit of DB, which commits early. From then on DB
 * leaves it to its owner to empty the log, and helps itself only when that is not done for long. */
size_t db_log_blocks(const struct db *db);

/* Moves what is in the log to its place, durably, without waiting for anybody; it may be another
 * connection's thread, while DB writes. A log that was emptied whole begins anew at the next
 * commit. *out_left (may be NULL): blocks that were added meanwhile or that a reader still needs.
 * Not DB_OK: see db_broken; DB_RETRY: somebody else is at it. DB must be idle. */
enum db_status db_checkpoint(struct db *db, size_t *out_left);

/* NULL is allowed. */
void db_flusher_free(struct db_flusher *flusher);

#endif
