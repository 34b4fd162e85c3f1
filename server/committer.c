/* Group commit.
 *
 * DESIGN. A batch is a list of requests. The thread begins it, serves each request (the api gives
 * each a transaction of its own within the batch), and commits, which waits for the disk. Then the
 * replies leave, and the requests that arrived meanwhile are the next batch. The status of the
 * database decides:
 *
 *   ok      every reply leaves
 *   retry   the replies are forgotten and the same requests are served again: their bodies are
 *           still here, and what was drawn was seen by nobody
 *   full, failed   nothing was stored. Requests that write are told so; requests that only read are
 *           served again alone, because they may have seen what was just rolled back
 *   broken  whether the commit is durable is unknown. The process stops at once and says nothing:
 *           the next start finds out. */
#include "server/committer.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "memory/memory.h"
#include "server/database.h"
#include "server/log.h"
#include "storage/db/db.h"

#define BATCH_ATTEMPTS 50
#define RETRY_PAUSE_MS 5

struct committer {
    struct lane lane;
    pthread_t thread;
    struct app *app;
    struct db *db;
    struct metrics *metrics;
    unsigned batch;
};

static void forget_reply(struct exchange *exchange)
{
    api_reply_clear(&exchange->reply);
    exchange->reply = (struct api_reply){0};
}

static void answer_problem(struct exchange *exchange, const char *slug, const char *detail)
{
    forget_reply(exchange);
    api_problem_reply(slug, detail, exchange->request.request_id, &exchange->reply);
}

static bool any_writes(const struct exchange *list)
{
    for (; list; list = list->next)
        if (list->route.writes)
            return true;
    return false;
}

/* Serves the batch once. On DB_OK all replies are filled. */
static enum db_status serve_batch(struct committer *committer, struct exchange *list)
{
    enum db_status status = db_begin_batch(committer->db, any_writes(list));
    if (status != DB_OK)
        return status;
    for (struct exchange *x = list; x; x = x->next) {
        if (x->reply.status != 0) /* of an attempt before */
            forget_reply(x);
        api_serve(committer->app, committer->db, &x->request, &x->reply);
    }
    status = db_commit_batch(committer->db);
    database_heed(committer->db);
    if (status != DB_OK)
        db_rollback_batch(committer->db);
    return status;
}

static enum db_status serve_with_retries(struct committer *committer, struct exchange *list)
{
    enum db_status status = DB_RETRY;
    for (int attempt = 0; attempt < BATCH_ATTEMPTS && status == DB_RETRY; attempt++) {
        if (attempt > 0) {
            nanosleep(&(struct timespec){.tv_nsec = RETRY_PAUSE_MS * 1000000L}, NULL);
            metrics_add(committer->metrics, METRICS_BATCH_RETRIES, 1);
        }
        status = serve_batch(committer, list);
        database_heed(committer->db);
    }
    return status;
}

/* Answers a batch of which nothing was stored. */
static void answer_failure(struct committer *committer, struct exchange *list,
                           enum db_status status)
{
    metrics_add(committer->metrics, METRICS_BATCH_FAILURES, 1);
    log_event(LOG_LEVEL_ERROR, "batch-not-stored", "status=%d why=\"%s\"", (int)status,
              db_last_error(committer->db));
    const char *slug = "internal-error";
    if (status == DB_FULL)
        slug = "storage-full";
    else if (status == DB_RETRY)
        slug = "overloaded";
    for (struct exchange *x = list; x; x = x->next) {
        struct exchange *rest = x->next;
        x->next = NULL;
        if (x->route.writes || serve_with_retries(committer, x) != DB_OK)
            answer_problem(x, slug, "Nothing was stored and nothing was charged.");
        x->next = rest;
    }
}

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
    while ((list = lane_take(&committer->lane, committer->batch, &count))) {
        enum db_status status = serve_with_retries(committer, list);
        if (status != DB_OK)
            answer_failure(committer, list, status);
        metrics_add(committer->metrics, METRICS_BATCHES, 1);
        metrics_add(committer->metrics, METRICS_BATCHED_REQUESTS, count);
        release_batch(committer, list);
    }
    return NULL;
}

struct committer *committer_start(struct app *app, struct db *db, struct metrics *metrics,
                                  struct lane_limits limits, unsigned batch)
{
    assert(batch > 0);
    struct committer *committer = memory_new(1, sizeof *committer);
    *committer = (struct committer){.app = app, .db = db, .metrics = metrics, .batch = batch};
    lane_init(&committer->lane, limits);
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
