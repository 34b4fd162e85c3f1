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

/* Starts the thread on DB, which nobody else uses and which outlives it. NULL: no thread can be
 * started. */
struct checkpointer *checkpointer_start(struct db *db);

/* The writer calls this after a commit; its log has BLOCKS blocks now. True: the writer must empty
 * the rest itself (db_checkpoint, storage/db/db_log.h). */
bool checkpointer_tend(struct checkpointer *checkpointer, size_t blocks);

/* Ends the thread when its present checkpoint is done. NULL is fine. */
void checkpointer_stop(struct checkpointer *checkpointer);

#endif
