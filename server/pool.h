/* A few threads with connections of their own. There is one pool for calls that read and compute,
 * one for calls that price and plan, which take longest, and one for calls that read their body as
 * it arrives. Each call commits for itself before its reply leaves. */
#ifndef TACET_SERVER_POOL_H
#define TACET_SERVER_POOL_H

#include "api/api.h"
#include "server/lane.h"

struct pool;

/* Starts COUNT threads, the i-th with DBS[i] (the array is copied, the connections stay the
 * caller's). LIMITS say how many requests wait or run. NULL: no thread can be started. */
struct pool *pool_start(struct app *app, struct db *const *dbs, unsigned count,
                        struct lane_limits limits);

/* The lane in which callers reserve a place and push. */
struct lane *pool_lane(struct pool *pool);

/* Serves what is queued, ends the threads and frees. NULL is fine. */
void pool_stop(struct pool *pool);

#endif
