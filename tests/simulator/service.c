#include "tests/simulator/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/batch.h"
#include "server/database.h"
#include "server/keys.h"
#include "server/metrics.h"
#include "server/os/data_dir.h"
#include "server/os/log.h"
#include "storage/answers/answers.h"
#include "storage/keys/keyring.h"

int64_t service_clock_ms;
uint32_t service_keep_days;

static int64_t service_now(void)
{
    return service_clock_ms;
}

/* ---- what of the process is replaced by the linker (tests.mk) */

/* The committer's pause before it tries again. */
int __wrap_nanosleep(const struct timespec *span, struct timespec *left);
int __wrap_nanosleep(const struct timespec *span, struct timespec *left)
{
    (void)left;
    service_clock_ms += span->tv_sec * 1000 + span->tv_nsec / 1000000;
    return 0;
}

/* The real one ends the process when a commit is unknown. Here all is over at once where a process
 * was to end, and a server ends alone after a commit whose reply the standby kept back. */
void __wrap_database_heed(struct db *db);
void __wrap_database_heed(struct db *db)
{
    if (db_broken(db))
        disk_end_alone();
}

void __wrap_log_event(enum log_level level, const char *event, const char *format, ...);
void __wrap_log_event(enum log_level level, const char *event, const char *format, ...)
{
    (void)level;
    (void)event;
    (void)format;
}

/* ---- start and end */

static bool service_connect(struct service *service, char *why, size_t size)
{
    struct db **all[] = {&service->door,      &service->committer, &service->auditor,
                         &service->pool[0],   &service->pool[1],   &service->worker[0],
                         &service->worker[1], &service->pruner};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!(*all[i] = database_connect(service->database, why, size)))
            return false;
    return true;
}

static bool service_audit(struct db *db, char *why, size_t size)
{
    unsigned long long entries, answers;
    return database_verify_ledger(db, &entries, why, size) &&
           database_verify_answers(db, &answers, why, size);
}

bool service_start(struct service *service, const char *directory, bool audits, char *why,
                   size_t size)
{
    char keys[4096];
    struct api_settings settings = {.now_ms = service_now,
                                    .max_body_bytes = 1 << 20,
                                    .max_upload_bytes = 1 << 24,
                                    .max_policy_bytes = 1 << 20,
                                    .max_states_per_query = 1024,
                                    .max_experts_per_dataset = 1000,
                                    .keep_answers_days = service_keep_days,
                                    .keep_entries_days = service_keep_days,
                                    .cors_origins = "",
                                    .version = "simulator"};
    const struct database_place place = {.directory = directory};
    *service = (struct service){.app = NULL};
    snprintf(service->directory, sizeof service->directory, "%s", directory);
    if (!data_dir_make(directory, why, size) ||
        (database_find(&place, why, size) == DATA_DIR_NEW && !database_make(&place, why, size)) ||
        !(service->database = database_open(&place, why, size)) ||
        !service_connect(service, why, size) || !database_sweep(service->auditor, why, size) ||
        (audits && !service_audit(service->auditor, why, size)) ||
        answers_kept_from(service->auditor, &settings.answers_from_ms) != DB_OK ||
        !data_dir_signing_seed(directory, settings.signing_seed, why, size))
        return false;
    service->answers_from_ms = settings.answers_from_ms;
    service->metrics = metrics_new();
    service->admitted = api_admitted_new();
    if (keys_directory(directory, NULL, keys, sizeof keys, why, size))
        service->keys =
            keys_open(directory, keys, &(struct keys_source){0}, service->auditor, why, size);
    settings.keys = service->keys;
    if (!service->keys)
        return false;
    service->app = api_open(&settings);
    return service->app && api_private_begin(service->app, service->auditor, why, size);
}

void service_end(struct service *service)
{
    api_close(service->app);
    keyring_close(service->keys);
    database_close(service->database);
    metrics_free(service->metrics);
    free(service->admitted);
    *service = (struct service){.app = NULL};
}

/* ---- requests */

struct reading { /* of a streamed body */
    const char *at;
    size_t left;
};

static struct exchange *service_exchange(const struct service_request *request)
{
    char authorization[200];
    struct exchange *exchange = exchange_new(request->path);
    snprintf(exchange->method, sizeof exchange->method, "%s", request->method);
    exchange->request.method = exchange->method;
    snprintf(authorization, sizeof authorization, "Bearer %s",
             request->token ? request->token : "");
    if (request->token)
        exchange_add_header(exchange, "Authorization", authorization);
    if (request->key)
        exchange_add_header(exchange, "Idempotency-Key", request->key);
    if (request->match)
        exchange_add_header(exchange, "If-Match", request->match);
    if (request->body) {
        bool lines = strstr(request->path, "/trajectories") != NULL;
        exchange_add_header(exchange, "Content-Type",
                            lines ? "application/x-ndjson" : "application/json");
        buffer_add_text(&exchange->body, request->body);
        exchange->request.body = (const unsigned char *)exchange->body.bytes;
        exchange->request.body_size = exchange->body.size;
    }
    return exchange;
}

static bool service_is_answered(struct service *service, struct exchange *exchange)
{
    switch (api_admit(service->app, service->door, service->admitted, &exchange->request,
                      &exchange->client, exchange->caller, &exchange->reply)) {
    case API_REFUSED: return true;
    case API_PUBLIC:
        api_serve(service->app, service->door, &exchange->request, &exchange->reply);
        return true;
    case API_NEWCOMER: exchange->route.writes = true; break;
    case API_ADMITTED: break;
    }
    return exchange->route.quick &&
           api_serve_quick(service->app, &exchange->request, &exchange->reply);
}

struct exchange *service_receive(struct service *service, const struct service_request *request,
                                 void (*resume)(void *context), void *context,
                                 enum service_way *out_way)
{
    struct exchange *exchange = service_exchange(request);
    void (*between)(void *) = disk.between;
    exchange->resume = resume;
    exchange->connection = context;
    exchange->route = api_route(service->app, request->method, exchange->request.path);
    exchange->request.route = exchange->route.route;
    disk.between = NULL; /* one thread admits */
    bool answered = service_is_answered(service, exchange);
    disk.between = between;
    if (answered)
        *out_way = SERVICE_ANSWERED;
    else if (exchange->route.lane == API_LANE_BATCH &&
             !(exchange->route.may_be_heavy && api_is_heavy(service->app, &exchange->request)))
        *out_way = SERVICE_BATCH;
    else
        *out_way = SERVICE_THREAD;
    return exchange;
}

void service_commit(struct service *service, struct exchange *list)
{
    const struct batch_place place = {
        .app = service->app, .db = service->committer, .metrics = service->metrics};
    batch_serve(&place, list);
}

static long service_read(void *context, unsigned char *buffer, size_t size)
{
    struct reading *reading = context;
    size = reading->left < size ? reading->left : size;
    memcpy(buffer, reading->at, size);
    reading->at += size;
    reading->left -= size;
    return (long)size;
}

void service_run(struct service *service, unsigned i, struct exchange *exchange)
{
    struct reading reading = {(const char *)exchange->request.body, exchange->request.body_size};
    service->pool_busy[i] = true;
    if (exchange->route.lane == API_LANE_STREAM) {
        exchange->request.body_size = 0;
        exchange->request.reader = (struct byte_reader){&reading, service_read};
    }
    api_serve(service->app, service->pool[i], &exchange->request, &exchange->reply);
    __wrap_database_heed(service->pool[i]);
    service->pool_busy[i] = false;
}
