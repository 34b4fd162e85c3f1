/* Serves a list of requests in one transaction with one commit: the work of the batch lane, without
 * its thread. */
#ifndef TACET_SERVER_BATCH_H
#define TACET_SERVER_BATCH_H

#include "api/api.h"
#include "server/exchange.h"
#include "server/lane.h"
#include "server/metrics.h"
#include "storage/db/db.h"

struct batch_place { /* where batches are served */
    struct app *app;
    struct db *db; /* this thread's own */
    struct metrics *metrics;
    struct lane
        *lane;     /* NULL: none. What arrives while a batch waits for its turn to write joins it */
    unsigned most; /* as of lane_take */
};

/* Replaces the reply of EXCHANGE by a problem: by STATUS nothing was stored, or what it read is not
 * stored well enough to be told. */
void batch_refuse(struct exchange *exchange, enum db_status status);

/* Fills the replies of LIST, in its order, and of what joins it at its end, and commits. On return
 * what they say is on disk, or they say that nothing was stored, and they may leave. A commit of
 * which that is unknown ends the process (database_heed). */
void batch_serve(const struct batch_place *place, struct exchange *list);

#endif
