/* Threads that take one request at a time from a lane and serve it. */
#include "server/pool.h"

#include <assert.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "memory/wipe.h"
#include "server/batch.h"
#include "server/database.h"
#include "server/helpers.h"
#include "server/os/log.h"

#define POOL_NICENESS 5

struct pool_thread {
    pthread_t thread;
    struct pool *pool;
    struct db *db;
};

struct pool {
    struct lane lane;
    struct app *app;
    unsigned count;
    struct pool_thread threads[];
};

/* What a request read leaves only when it is there to stay. A change has had a commit; one that was
 * refused has had none, and says what it read. */
static void pool_settle(struct db *db, struct exchange *exchange)
{
    bool stored = exchange->route.stores && exchange->reply.status < 400;
    enum db_status status = DB_OK;
    if (exchange->route.settles && !stored)
        status = db_settle(db);
    if (status == DB_OK)
        return;
    log_event(LOG_LEVEL_ERROR, "read-not-settled", "status=%d why=\"%s\"", (int)status,
              db_last_error(db));
    batch_refuse(exchange, status);
}

static void *pool_run(void *context)
{
    struct pool_thread *self = context;
    struct pool *pool = self->pool;
    unsigned count = 0;
    struct exchange *exchange;
    helpers_lower_priority(POOL_NICENESS, false);
    while ((exchange = lane_take(&pool->lane, 1, &count))) {
        api_serve(pool->app, self->db, &exchange->request, &exchange->reply);
        pool_settle(self->db, exchange);
        database_heed(self->db);
        wipe_stack(); /* of an upload, for instance */
        lane_release(&pool->lane, exchange);
        exchange_finish(exchange);
    }
    return NULL;
}

struct pool *pool_start(struct app *app, struct db *const *dbs, unsigned count,
                        struct lane_limits limits)
{
    assert(count > 0);
    struct pool *pool = memory_new(1, sizeof *pool + count * sizeof pool->threads[0]);
    pool->app = app;
    lane_init(&pool->lane, limits);
    for (; pool->count < count; pool->count++) {
        struct pool_thread *self = &pool->threads[pool->count];
        self->pool = pool;
        self->db = dbs[pool->count];
        if (pthread_create(&self->thread, NULL, pool_run, self) != 0) {
            pool_stop(pool);
            return NULL;
        }
    }
    return pool;
}

struct lane *pool_lane(struct pool *pool)
{
    return &pool->lane;
}

void pool_stop(struct pool *pool)
{
    if (!pool)
        return;
    lane_stop(&pool->lane);
    for (unsigned i = 0; i < pool->count; i++)
        pthread_join(pool->threads[i].thread, NULL);
    lane_destroy(&pool->lane);
    free(pool);
}
