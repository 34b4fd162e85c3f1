/* Group commit.
 *
 * DESIGN. A batch is a list of requests. begin, serve each (in a transaction of its own within the
 * batch, made by the api), commit, which waits for the disk; the replies leave, and what has
 * arrived meanwhile is the next batch. Who arrives while others are being served joins them, as far
 * as the lane gives (lane_take): a sync more costs everybody more than a request more does. Nobody
 * joins a batch that only reads, whose transaction may not write, or one that has failed. What the
 * database says decides:
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
#include <unistd.h>

#include "server/checkpointer.h"
#include "server/log.h"
#include "storage/db/db.h"
#include "storage/db/db_log.h"

#define BATCH_ATTEMPTS 50
#define RETRY_PAUSE_MS 5

struct committer {
    struct lane lane;
    pthread_t thread;
    struct app *app;
    struct db *db, *helper;
    struct metrics *metrics;
    unsigned batch;
    struct checkpointer *checkpointer; /* NULL: there is no log to empty */
};

struct batch {
    struct exchange *first;
    unsigned count;
    unsigned most; /* more may join while they are served, up to this many; 0: nobody */
};

static void forget_reply(struct exchange *exchange)
{
    api_reply_clear(&exchange->reply);
    exchange->reply = (struct api_reply){0};
}

static void answer_problem(struct committer *committer, struct exchange *exchange, const char *slug,
                           const char *detail)
{
    forget_reply(exchange);
    api_problem_reply(committer->app, slug, detail, exchange->request.request_id, &exchange->reply);
}

static bool any_writes(const struct exchange *list)
{
    for (; list; list = list->next)
        if (list->route.writes)
            return true;
    return false;
}

static void stop_if_broken(struct committer *committer)
{
    if (!db_broken(committer->db))
        return;
    log_event(LOG_LEVEL_ERROR, "database-broken",
              "why=\"%s\" note=\"a commit may or may not be on disk; stopping without answering\"",
              db_last_error(committer->db));
    _exit(1);
}

/* To the end of the batch, after LAST. */
static void let_join(struct committer *committer, struct batch *batch, struct exchange *last)
{
    unsigned count = 0;
    if (batch->count >= batch->most)
        return;
    last->next = lane_take_more(&committer->lane, batch->count, batch->most, &count);
    batch->count += count;
}

/* One attempt; all replies are filled when it gives DB_OK. */
static enum db_status serve_batch(struct committer *committer, struct batch *batch)
{
    bool writes = any_writes(batch->first);
    enum db_status status = db_begin_batch(committer->db, writes);
    if (status != DB_OK)
        return status;
    for (struct exchange *x = batch->first; x; x = x->next) {
        if (x->reply.status != 0) /* of an attempt before */
            forget_reply(x);
        api_serve(committer->app, committer->db, &x->request, &x->reply);
        if (!x->next && writes) /* who joins may want to write */
            let_join(committer, batch, x);
    }
    status = db_commit_batch(committer->db);
    stop_if_broken(committer);
    if (status != DB_OK)
        db_rollback_batch(committer->db);
    return status;
}

static enum db_status serve_with_retries(struct committer *committer, struct batch *batch)
{
    enum db_status status = DB_RETRY;
    for (int attempt = 0; attempt < BATCH_ATTEMPTS && status == DB_RETRY; attempt++) {
        if (attempt > 0) {
            batch->most = 0;
            nanosleep(&(struct timespec){.tv_nsec = RETRY_PAUSE_MS * 1000000L}, NULL);
            metrics_add(committer->metrics, METRICS_BATCH_RETRIES, 1);
        }
        status = serve_batch(committer, batch);
        stop_if_broken(committer);
    }
    return status;
}

/* Nothing of the batch was stored. */
static void answer_failure(struct committer *committer, struct exchange *list,
                           enum db_status status)
{
    metrics_add(committer->metrics, METRICS_BATCH_FAILURES, 1);
    log_event(LOG_LEVEL_ERROR, "batch-not-stored", "status=%d why=\"%s\"", (int)status,
              db_last_error(committer->db));
    const char *slug = status == DB_FULL    ? "storage-full"
                       : status == DB_RETRY ? "overloaded"
                                            : "internal-error";
    for (struct exchange *x = list; x; x = x->next) {
        struct exchange *rest = x->next;
        x->next = NULL;
        struct batch alone = {.first = x, .count = 1};
        if (x->route.writes || serve_with_retries(committer, &alone) != DB_OK)
            answer_problem(committer, x, slug, "Nothing was stored and nothing was charged.");
        x->next = rest;
    }
}

/* The batch is committed, or answered with problems. */
static void let_go(struct committer *committer, struct exchange *list, unsigned count)
{
    lane_release(&committer->lane, count);
    while (list) {
        struct exchange *rest = list->next;
        exchange_finish(list);
        list = rest;
    }
}

static void tend_log(struct committer *committer)
{
    if (!committer->checkpointer ||
        !checkpointer_tend(committer->checkpointer, db_log_blocks(committer->db)))
        return;
    (void)db_checkpoint(committer->db, NULL); /* what was not done comes round again */
    stop_if_broken(committer);
}

static void *committer_run(void *context)
{
    struct committer *committer = context;
    struct batch batch;
    while ((batch.first = lane_take(&committer->lane, committer->batch, &batch.count))) {
        batch.most = committer->batch;
        enum db_status status = serve_with_retries(committer, &batch);
        if (status != DB_OK)
            answer_failure(committer, batch.first, status);
        metrics_add(committer->metrics, METRICS_BATCHES, 1);
        metrics_add(committer->metrics, METRICS_BATCHED_REQUESTS, batch.count);
        let_go(committer, batch.first, batch.count);
        tend_log(committer);
    }
    return NULL;
}

/* False: memory or threads are short. */
static bool start_checkpointer(struct committer *committer)
{
    if (!db_leave_log(committer->db))
        return true;
    committer->checkpointer = checkpointer_start(committer->helper);
    return committer->checkpointer != NULL;
}

struct committer *committer_start(struct app *app, struct db *db, struct db *helper,
                                  struct metrics *metrics, unsigned queue, unsigned batch)
{
    assert(queue > 0 && batch > 0);
    struct committer *committer = malloc(sizeof *committer);
    if (!committer)
        return NULL;
    *committer = (struct committer){
        .app = app, .db = db, .helper = helper, .metrics = metrics, .batch = batch};
    lane_init(&committer->lane, queue);
    if (!start_checkpointer(committer) ||
        pthread_create(&committer->thread, NULL, committer_run, committer) != 0) {
        checkpointer_stop(committer->checkpointer);
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
    checkpointer_stop(committer->checkpointer);
    lane_destroy(&committer->lane);
    free(committer);
}
