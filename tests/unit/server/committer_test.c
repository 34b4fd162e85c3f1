/* The committer with a real database and no socket: who shares a commit with whom. */
#include "server/committer.h"

#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/db/db.h"
#include "storage/upgrade.h"

struct service {
    char directory[64], path[96];
    struct db_store *store;
    struct db *db;
    struct app *app;
    struct metrics *metrics;
    struct committer *committer;
    sem_t answered;
};

/* SQLite's driver, whose second commit fails as told; DB_OK: it does not. Set before a request is
 * handed over, looked at by the committer's thread after that. */
static struct db_driver failing;
static enum db_status failure;
static unsigned commits;

static enum db_status commit(void *connection, struct db_fault *fault)
{
    enum db_status status = ++commits == 2 ? failure : DB_OK;
    if (status == DB_OK)
        return db_driver_sqlite.commit(connection, fault);
    db_driver_sqlite.rollback(connection);
    return status;
}

/* A request that brings others while it is being served: when its first header is looked for. */
struct bringer {
    struct exchange *exchange, *brought[2]; /* NULL: they were brought */
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
    failing = db_driver_sqlite;
    failing.commit = commit;
    failure = DB_OK;
    service->store = db_store_new(&failing, &database);
    cr_assert_not_null(service->store);
    cr_assert_eq(db_open(service->store, &service->db, error), DB_OK, "%s", error);
    cr_assert_eq(storage_upgrade(service->db, error), DB_OK, "%s", error);
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
    const struct lane_limits limits = {.places = 16, .each = 16};
    service->committer =
        committer_start(service->app, service->db, service->metrics, limits, batch);
    cr_assert_not_null(service->committer);
}

static void close_service(struct service *service)
{
    committer_stop(service->committer);
    db_close(service->db);
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
    struct exchange *exchange = exchange_new(path);
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
    cr_assert_eq(lane_reserve(lane, exchange, false), LANE_RESERVED);
    exchange_hold(exchange);
    lane_push(lane, exchange);
}

static const char *bring(void *context, const char *name)
{
    struct bringer *bringer = context;
    for (int i = 0; i < 2 && bringer->brought[i] != NULL; i++)
        hand_over(bringer->lane, bringer->brought[i]);
    bringer->brought[0] = NULL;
    return exchange_header(bringer->exchange, name);
}

/* Two requests that wait while another is served. */
struct scene {
    const char *first, *second; /* what they ask: METHOD /path */
    unsigned batch;             /* at most so many to a commit */
    enum db_status failure;     /* of their first commit */
};

struct outcome {
    int64_t batches, served, retries; /* with the one before them */
    int first, second;                /* their statuses */
};

static struct exchange *asking(struct service *service, const char *what)
{
    char method[8];
    size_t size = strcspn(what, " ");
    cr_assert_lt(size, sizeof method);
    memcpy(method, what, size);
    method[size] = '\0';
    return request(service, method, what + size + 1);
}

static struct outcome play(const struct scene *scene)
{
    struct service service = {.store = NULL};
    open_service(&service, scene->batch);
    struct exchange *before = asking(&service, "POST /v1/clients");
    struct exchange *first = asking(&service, scene->first);
    struct exchange *second = asking(&service, scene->second);
    struct bringer bringer = {before, {first, second}, committer_lane(service.committer)};
    before->request.header = bring;
    before->request.header_context = &bringer;
    failure = scene->failure;
    commits = 0;
    hand_over(committer_lane(service.committer), before);
    for (int i = 0; i < 3; i++)
        sem_wait(&service.answered);
    struct outcome outcome = {
        .batches = metrics_get(service.metrics, METRICS_BATCHES),
        .served = metrics_get(service.metrics, METRICS_BATCHED_REQUESTS),
        .retries = metrics_get(service.metrics, METRICS_BATCH_RETRIES),
        .first = first->reply.status,
        .second = second->reply.status,
    };
    exchange_let_go(before);
    exchange_let_go(first);
    exchange_let_go(second);
    close_service(&service);
    return outcome;
}

#define WRITER "POST /v1/clients"
#define READER "GET /v1/datasets"

Test(committer, who_waits_while_another_is_served_shares_a_commit)
{
    struct outcome is = play(&(struct scene){WRITER, READER, 16, DB_OK});
    cr_expect_eq(is.batches, 2);
    cr_expect_eq(is.served, 3);
    cr_expect_eq(is.first, 401);
    cr_expect_eq(is.second, 401);
}

Test(committer, no_batch_grows_past_its_limit)
{
    struct outcome is = play(&(struct scene){WRITER, WRITER, 1, DB_OK});
    cr_expect_eq(is.batches, 3);
    cr_expect_eq(is.served, 3);
}

Test(committer, a_batch_is_served_again_when_the_database_says_so)
{
    struct outcome is = play(&(struct scene){WRITER, WRITER, 16, DB_RETRY});
    cr_expect_eq(is.batches, 2);
    cr_expect_eq(is.served, 3);
    cr_expect_eq(is.retries, 1);
    cr_expect_eq(is.first, 401);
    cr_expect_eq(is.second, 401);
}

/* Whoever writes is told so; whoever only reads is served alone. */
Test(committer, a_full_disk_is_told_to_those_who_write)
{
    struct outcome is = play(&(struct scene){WRITER, WRITER, 16, DB_FULL});
    cr_expect_eq(is.batches, 2);
    cr_expect_eq(is.first, 503);
    cr_expect_eq(is.second, 503);
    is = play(&(struct scene){WRITER, READER, 16, DB_FULL});
    cr_expect_eq(is.first, 503);
    cr_expect_eq(is.second, 401);
}
