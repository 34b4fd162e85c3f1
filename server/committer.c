/* Group commit: while one batch is served (batch.h) and waits for the disk, the requests that
 * arrive gather, and are the next batch. So are those that arrive while it waits for another server
 * to write. */
#include "server/committer.h"

#include <assert.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "server/batch.h"
#include "server/helpers.h"
#include "storage/db/db.h"

struct committer {
    struct lane lane;
    pthread_t thread;
    struct batch_place place;
};

/* Lets the replies of a finished batch leave. */
static void release_batch(struct committer *committer, struct exchange *list)
{
    lane_release(&committer->lane, list);
    while (list) {
        struct exchange *rest = list->next;
        exchange_finish(list);
        list = rest;
    }
}

static void *committer_run(void *context)
{
    struct committer *committer = context;
    struct exchange *list;
    unsigned count;
    /* The thread that serves the sockets may have a hundred requests at hand. All of them wait for
     * the commit, so it goes on first when the disk is done. */
    helpers_answer_soon(HELPER_COMMIT_SLICE_NS);
    while ((list = lane_take(&committer->lane, committer->place.most, &count))) {
        batch_serve(&committer->place, list);
        count = 0; /* some may have joined */
        for (const struct exchange *exchange = list; exchange; exchange = exchange->next)
            count++;
        metrics_add(committer->place.metrics, METRICS_BATCHES, 1);
        metrics_add(committer->place.metrics, METRICS_BATCHED_REQUESTS, count);
        release_batch(committer, list);
    }
    return NULL;
}

struct committer *committer_start(struct app *app, struct db *db, struct metrics *metrics,
                                  struct lane_limits limits, unsigned batch)
{
    assert(batch > 0);
    struct committer *committer = memory_new(1, sizeof *committer);
    committer->place = (struct batch_place){app, db, metrics, &committer->lane, batch};
    lane_init(&committer->lane, limits);
    db_go_first(db);
    if (pthread_create(&committer->thread, NULL, committer_run, committer) != 0) {
        lane_destroy(&committer->lane);
        free(committer);
        return NULL;
    }
    return committer;
}

struct lane *committer_lane(struct committer *committer)
{
    return &committer->lane;
}

void committer_stop(struct committer *committer)
{
    if (!committer)
        return;
    lane_stop(&committer->lane);
    pthread_join(committer->thread, NULL);
    lane_destroy(&committer->lane);
    free(committer);
}
