/* The batch lane. One thread serves all waiting requests inside one transaction, commits once, and
 * only then lets the replies go. All of them share one fsync. */
#ifndef TACET_SERVER_COMMITTER_H
#define TACET_SERVER_COMMITTER_H

#include "api/api.h"
#include "server/lane.h"
#include "server/metrics.h"

struct committer;

/* Starts the thread. APP, DB (a connection for the committer alone) and METRICS outlive it.
 * LIMITS say how many requests wait, and at most BATCH share a commit. NULL: no thread can be
 * started. */
struct committer *committer_start(struct app *app, struct db *db, struct metrics *metrics,
                                  struct lane_limits limits, unsigned batch);

/* The lane in which callers reserve a place and push. */
struct lane *committer_lane(struct committer *committer);

/* Serves what is queued, ends the thread and frees. NULL is fine. */
void committer_stop(struct committer *committer);

#endif
