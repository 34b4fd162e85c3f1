/* One batch: many requests, one transaction.
 *
 * DESIGN. A batch is a list of requests. The caller's thread begins it, serves each request (the
 * api gives each a transaction of its own within the batch), and commits, which waits for the disk.
 * The status of the database decides:
 *
 *   ok      every reply may leave
 *   retry   the replies are forgotten and the same requests are served again: their bodies are
 *           still here, and what was drawn was seen by nobody
 *   full, failed   nothing was stored. Requests that write are told so; requests that only read are
 *           served again alone, because they may have seen what was just rolled back
 *   broken  whether the commit is durable is unknown. The process stops at once and says nothing:
 *           the next start finds out. */
#include "server/batch.h"

#include <time.h>

#include "server/database.h"
#include "server/os/clock.h"
#include "server/os/log.h"

#define BATCH_ATTEMPTS 50
#define RETRY_PAUSE_MS 5

static void batch_forget_reply(struct exchange *exchange)
{
    api_reply_clear(&exchange->reply);
    exchange->reply = (struct api_reply){0};
}

void batch_refuse(struct exchange *exchange, enum db_status status)
{
    const char *slug = "internal-error";
    const char *detail = "Nothing was stored and nothing was charged.";
    if (status == DB_FULL) {
        slug = "storage-full";
        detail = "The service cannot write at present; /healthz/ready and its log "
                 "(batch-not-stored, read-not-settled) say why. Nothing was stored and nothing was "
                 "charged.";
    } else if (status == DB_RETRY || status == DB_MEMORY)
        slug = "overloaded";
    batch_forget_reply(exchange);
    api_problem_reply(slug, detail, exchange->request.request_id, &exchange->reply);
}

/* A commit after the deletion of a dataset takes longer the more there was. */
static bool batch_is_timed(const struct exchange *list)
{
    for (; list; list = list->next)
        if (!list->route.timed)
            return false;
    return true;
}

static bool batch_writes(const struct exchange *list)
{
    for (; list; list = list->next)
        if (list->route.writes)
            return true;
    return false;
}

/* Serves the batch once. On DB_OK all replies are filled. */
static enum db_status batch_serve_once(const struct batch_place *place, struct exchange *list)
{
    enum db_status status = db_begin_batch(place->db, batch_writes(list));
    if (status != DB_OK)
        return status;
    if (place->lane && batch_writes(list))
        lane_add(place->lane, list, place->most);
    for (struct exchange *x = list; x; x = x->next)
        if (x->route.writes)
            api_expect(place->db, &x->request);
    for (struct exchange *x = list; x; x = x->next) {
        if (x->reply.status != 0) /* of an attempt before */
            batch_forget_reply(x);
        api_serve(place->app, place->db, &x->request, &x->reply);
    }
    int64_t begun_us = clock_now_us();
    status = db_commit_batch(place->db);
    api_settled(place->app, status == DB_OK);
    database_heed(place->db);
    if (status == DB_OK && batch_writes(list) && batch_is_timed(list))
        metrics_commit(place->metrics, (uint64_t)(clock_now_us() - begun_us));
    if (status != DB_OK)
        db_rollback_batch(place->db);
    return status;
}

static enum db_status batch_serve_retrying(const struct batch_place *place, struct exchange *list)
{
    enum db_status status = DB_RETRY;
    for (int attempt = 0; attempt < BATCH_ATTEMPTS && status == DB_RETRY; attempt++) {
        if (attempt > 0) {
            nanosleep(&(struct timespec){.tv_nsec = RETRY_PAUSE_MS * 1000000L}, NULL);
            metrics_add(place->metrics, METRICS_BATCH_RETRIES, 1);
        }
        status = batch_serve_once(place, list);
        database_heed(place->db);
    }
    return status;
}

/* Answers a batch of which nothing was stored. */
static void batch_answer_failure(const struct batch_place *place, struct exchange *list,
                                 enum db_status status)
{
    metrics_add(place->metrics, METRICS_BATCH_FAILURES, 1);
    log_event(LOG_LEVEL_ERROR, "batch-not-stored", "status=%d why=\"%s\"", (int)status,
              db_last_error(place->db));
    for (struct exchange *x = list; x; x = x->next) {
        struct exchange *rest = x->next;
        x->next = NULL;
        if (x->route.writes || batch_serve_retrying(place, x) != DB_OK)
            batch_refuse(x, status);
        x->next = rest;
    }
}

void batch_serve(const struct batch_place *place, struct exchange *list)
{
    enum db_status status = batch_serve_retrying(place, list);
    if (status != DB_OK)
        batch_answer_failure(place, list, status);
}
