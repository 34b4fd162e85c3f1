/* The last step of a batch: waits until it is on disk, then lets its replies go. It has a thread of
 * its own, so that the committer serves the next batch meanwhile. */
#ifndef TACET_SERVER_FLUSHER_H
#define TACET_SERVER_FLUSHER_H

#include "server/exchange.h"
#include "server/lane.h"
#include "storage/db_flush.h"

struct flusher;

/* Starts the thread. It frees DISK at its end; the places of what it lets go are given back to
 * LANE. NULL when memory or threads are short (DISK is then still the caller's). */
struct flusher *flusher_start(struct db_flusher *disk, struct lane *lane);

/* Takes a LIST of served exchanges, in the order of their commits; COUNT of LANE's places are
 * theirs. WROTE: something was committed with them, or before they read, that may not be on disk
 * yet. */
void flusher_push(struct flusher *flusher, struct exchange *list, unsigned count, bool wrote);

/* Lets go what was pushed, ends the thread and frees. NULL is fine. */
void flusher_stop(struct flusher *flusher);

#endif
