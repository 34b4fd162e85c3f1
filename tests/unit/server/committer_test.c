/* The committer with a real database and no socket: who shares a commit with whom. */
#include "server/committer.h"

#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/db.h"
#include "storage/migrate.h"

struct service {
    char directory[64], path[96];
    struct db_store *store;
    struct db *db, *helper;
    struct app *app;
    struct metrics *metrics;
    struct committer *committer;
    sem_t answered;
};

/* A request that brings another while it is being served: when its first header is looked for. */
struct bringer {
    struct exchange *exchange, *brought; /* NULL: nobody any more */
    struct lane *lane;
};

static int64_t now_ms(void)
{
    return 1800000000000;
}

static void open_service(struct service *service, unsigned batch)
{
    char error[DB_ERROR_SIZE] = "";
    strcpy(service->directory, "/tmp/tacet-committer-XXXXXX");
    cr_assert_not_null(mkdtemp(service->directory));
    snprintf(service->path, sizeof service->path, "%s/tacet.db", service->directory);
    struct db_settings database = {.location = service->path, .not_durable = true};
    service->store = db_store_new(&db_driver_sqlite, &database);
    cr_assert_not_null(service->store);
    cr_assert_eq(db_open(service->store, &service->db, error), DB_OK, "%s", error);
    cr_assert_eq(migrate(service->db, error), DB_OK, "%s", error);
    cr_assert_eq(db_open(service->store, &service->helper, error), DB_OK, "%s", error);
    struct api_settings settings = {.now_ms = now_ms,
                                    .max_body_bytes = (uint64_t)1 << 20,
                                    .max_upload_bytes = (uint64_t)1 << 20,
                                    .max_policy_bytes = (uint64_t)1 << 20,
                                    .max_states_per_query = 16,
                                    .max_experts_per_dataset = 16,
                                    .cors_origins = "",
                                    .version = "test"};
    service->app = api_open(&settings);
    service->metrics = metrics_new();
    cr_assert(service->app != NULL && service->metrics != NULL);
    cr_assert_eq(sem_init(&service->answered, 0, 0), 0);
    service->committer =
        committer_start(service->app, service->db, service->helper, service->metrics, 16, batch);
    cr_assert_not_null(service->committer);
}

static void close_service(struct service *service)
{
    committer_stop(service->committer);
    db_close(service->db);
    db_close(service->helper);
    db_store_free(service->store);
    api_close(service->app);
    metrics_free(service->metrics);
    sem_destroy(&service->answered);
    const char *ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", service->path, ends[i]);
        unlink(path);
    }
    rmdir(service->directory);
}

static void note_answer(void *answered)
{
    sem_post(answered);
}

/* Nobody's request (there is no token): what it writes or does not is the route's word. */
static struct exchange *request(struct service *service, const char *method, const char *path)
{
    struct exchange *exchange = exchange_new(NULL, path);
    cr_assert_not_null(exchange);
    strcpy(exchange->method, method);
    exchange->request.method = exchange->method;
    exchange->route = api_route(service->app, method, path);
    exchange->request.route = exchange->route.route;
    exchange->connection = &service->answered;
    exchange->resume = note_answer;
    return exchange;
}

static void hand_over(struct lane *lane, struct exchange *exchange)
{
    cr_assert(lane_reserve(lane));
    exchange_hold(exchange);
    lane_push(lane, exchange);
}

static const char *bring(void *context, const char *name)
{
    struct bringer *bringer = context;
    if (bringer->brought != NULL)
        hand_over(bringer->lane, bringer->brought);
    bringer->brought = NULL;
    return exchange_header(bringer->exchange, name);
}

/* How many commits two requests take of which the second arrives while the first is served. */
static int64_t commits(const char *method, const char *path, unsigned batch)
{
    struct service service = {.store = NULL};
    open_service(&service, batch);
    struct exchange *first = request(&service, method, path);
    struct exchange *second = request(&service, "POST", "/v1/clients");
    struct bringer bringer = {first, second, committer_lane(service.committer)};
    first->request.header = bring;
    first->request.header_context = &bringer;
    hand_over(committer_lane(service.committer), first);
    sem_wait(&service.answered);
    sem_wait(&service.answered);
    cr_expect_eq(first->reply.status, 401);
    cr_expect_eq(second->reply.status, 401);
    committer_stop(service.committer); /* what it counts after the answers is counted */
    service.committer = NULL;
    int64_t batches = metrics_get(service.metrics, METRICS_BATCHES);
    cr_expect_eq(metrics_get(service.metrics, METRICS_BATCHED_REQUESTS), 2);
    exchange_let_go(first);
    exchange_let_go(second);
    close_service(&service);
    return batches;
}

Test(committer, who_comes_while_another_is_served_shares_its_commit)
{
    cr_expect_eq(commits("POST", "/v1/clients", 16), 1);
}

Test(committer, no_batch_grows_past_its_limit)
{
    cr_expect_eq(commits("POST", "/v1/clients", 1), 2);
}

/* What only reads has begun a transaction in which nobody may write. */
Test(committer, nobody_joins_those_who_only_read)
{
    cr_expect_eq(commits("GET", "/v1/datasets", 16), 2);
}
