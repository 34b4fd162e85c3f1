/* Empties the database's log beside the writer, so that no batch waits for it.
 *
 * The writer asks after each commit. When the log is long, a thread with a connection of its own
 * moves what is in it to its place, again and again, until what was added meanwhile is short; that
 * rest is the writer's, because only a log that nobody writes to can be emptied whole. */
#ifndef TACET_SERVER_CHECKPOINTER_H
#define TACET_SERVER_CHECKPOINTER_H

#include <stdbool.h>
#include <stddef.h>

struct db;
struct checkpointer;

/* Starts the thread on DB, which is its alone and outlives it. NULL: no thread can be started. */
struct checkpointer *checkpointer_start(struct db *db);

/* To be called by the writer after a commit that left the log with that many BLOCKS. True: the
 * writer is to empty the rest now (db_checkpoint, storage/db/db_log.h). */
bool checkpointer_tend(struct checkpointer *checkpointer, size_t blocks);

/* Ends the thread after what it is at. NULL is fine. */
void checkpointer_stop(struct checkpointer *checkpointer);

#endif
