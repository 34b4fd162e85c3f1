/* Puts the parts together. server_stop undoes them in reverse and accepts a half-built server. */
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/api.h"
#include "memory/memory.h"
#include "server/committer.h"
#include "server/database.h"
#include "server/events.h"
#include "server/helpers.h"
#include "server/httpd.h"
#include "server/issuer.h"
#include "server/keys.h"
#include "server/metrics.h"
#include "server/metrics_door.h"
#include "server/os/clock.h"
#include "server/os/confine.h"
#include "server/os/data_dir.h"
#include "server/os/listen.h"
#include "server/os/log.h"
#include "server/pool.h"
#include "server/pruner.h"
#include "server/runner.h"
#include "server/tls_files.h"
#include "server/webhooks/webhooks.h"
#include "storage/db/db.h"
#include "storage/keys/keyring.h"
#include "storage/marks/marks.h"
#include "storage/recovery.h"

#define SPARE_BYTES ((unsigned long long)16 * 1024 * 1024)
#define FULL_BYTES  ((unsigned long long)1024 * 1024) /* less cannot hold what a start writes */
#define LIGHT_BYTES 512 /* of a question with ten states, which takes as long as two with one */

struct server {
    struct config *config;
    const struct worlds *worlds;
    int locks[2]; /* of the data directory; -1 when not held */
    struct listen_socket listening;
    char url[192];
    struct tls_files tls;
    struct database *database;
    struct metrics *metrics;
    struct issuer *issuer;     /* NULL: own tokens alone */
    struct webhooks *webhooks; /* NULL: none */
    struct keyring *keys;
    char keys_path[4096];
    struct marks *marks; /* NULL: none */
    struct db *books;    /* the connection of the start and the end */
    struct app *app;
    struct committer *committer;
    struct pool *pool, *plans, *uploads;
    struct events *events;
    struct helpers *helpers;
    struct runner *runner;
    struct pruner *pruner;
    struct listen_socket watched;
    struct metrics_door *door_of_metrics; /* NULL: none of its own */
    struct httpd *httpd;
    struct db *door; /* the socket thread's connection */
    int64_t answers_from_ms;
    unsigned char seed_mark[DATA_DIR_MARK];
    atomic_bool draining;
};

struct server_trouble { /* where a start-up step says what went wrong */
    char *text;
    size_t size;
};

/* Why the signing key is not that of the start; NULL: it is. */
static const char *seed_fault(const struct server *server)
{
    unsigned char seed[sizeof((struct api_settings *)NULL)->signing_seed], mark[DATA_DIR_MARK];
    char ignored[512];
    if (!data_dir_signing_seed(server->config->data, seed, ignored, sizeof ignored))
        return "The file signing.key cannot be read, or is no key.";
    data_dir_seed_mark(seed, mark);
    sodium_memzero(seed, sizeof seed);
    return memcmp(mark, server->seed_mark, sizeof mark) == 0
               ? NULL
               : "The file signing.key is not the one that the server began with.";
}

static bool server_ready(void *context, const char **why_not)
{
    struct server *server = context;
    const struct database_place place = {.url = server->config->database};
    *why_not = NULL;
    if (atomic_load(&server->draining))
        *why_not = "The server is shutting down.";
    else if (access(server->config->data, F_OK) == 0 && !database_stands(server->database))
        *why_not = "The database was removed, moved or replaced. Nothing is stored any more.";
    else if (!data_dir_stands(server->config->data, !database_is_remote(&place), why_not))
        return false;
    else if ((*why_not = seed_fault(server)))
        return false;
    else if (!data_dir_has_room(server->config->data, SPARE_BYTES))
        *why_not =
            "The disk of the data directory has less than 16 MiB free, or cannot be written to.";
    else if (server->marks && !marks_stand(server->marks))
        *why_not = "The marks cannot be written: what would be charged cannot be made durable now.";
    else if (server->pruner && !pruner_sees_keys(server->pruner))
        *why_not =
            "The directory of keys is missing, readable by others or owned by another user, or the "
            "keys or the database do not answer: tacet doctor says which.";
    else if (server->pruner && !pruner_reaches(server->pruner))
        *why_not = "The database does not answer.";
    return !*why_not;
}

static void job_accepted(void *context)
{
    struct server *server = context;
    if (server->runner) /* others look by themselves */
        runner_wake(server->runner);
}

/* ---- start-up, step by step */

/* Every connection needs a descriptor. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void warn_of_root(void)
{
    if (geteuid() == 0)
        log_event(LOG_LEVEL_WARN, "running-as-root",
                  "note=\"the server needs no rights of root: give it a user of its own\"");
}

static void warn_of_plain_http(const struct server *server)
{
    if (!server->tls.keys && !server->listening.local)
        log_event(LOG_LEVEL_WARN, "plain-http",
                  "note=\"tokens and data travel unencrypted to %s:%u: give --tls-cert and "
                  "--tls-key, or listen on 127.0.0.1 behind a proxy with TLS\"",
                  server->listening.host, server->listening.port);
}

static void note_certificate(struct server *server)
{
    if (server->tls.keys)
        metrics_note_certificate(server->metrics, tls_keys_end_s(server->tls.keys));
}

static bool open_door(struct server *server, struct server_trouble trouble)
{
    const struct config *config = server->config;
    if (!tls_files_open(&server->tls, config, trouble.text, trouble.size) ||
        !listen_open("listen", config->listen, &server->listening, trouble.text, trouble.size))
        return false;
    note_certificate(server);
    warn_of_plain_http(server);
    return config->metrics_listen[0] == '\0' ||
           listen_open("metrics-listen", config->metrics_listen, &server->watched, trouble.text,
                       trouble.size);
}

static bool open_database(struct server *server, struct server_trouble trouble)
{
    const char *directory = server->config->data;
    const struct database_place place = {
        .directory = directory, .url = server->config->database, .marks = server->config->marks};
    enum data_dir_found found = database_find(&place, trouble.text, trouble.size);
    bool is_new = found == DATA_DIR_NEW, works = server->config->works;
    if (found == DATA_DIR_LOST)
        return false;
    if (works && is_new) {
        snprintf(trouble.text, trouble.size,
                 "the database has no service yet: start a server on it first");
        return false;
    }
    if (is_new && !database_make(&place, trouble.text, trouble.size))
        return false;
    server->database = database_open(&place, trouble.text, trouble.size);
    if (!server->database)
        return false;
    if (!works && !database_make_ready(server->database, &server->answers_from_ms, trouble.text,
                                       trouble.size))
        return false;
    if (is_new)
        log_event(LOG_LEVEL_INFO, "new-service", "note=\"%.500s is new: an empty service\"",
                  directory);
    return true;
}

static const char *columns_directory(const struct config *config)
{
    bool own = config->data_memory_bytes > 0 && config->columns_dir[0] != '\0';
    return own ? config->columns_dir : config->data;
}

/* False: the file system has no files without a name, or the directory cannot be written. */
static bool columns_have_place(const struct config *config, struct server_trouble trouble)
{
    const char *directory = columns_directory(config);
    if (config->data_memory_bytes == 0)
        return true;
    int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file >= 0) {
        close(file);
        return true;
    }
    snprintf(trouble.text, trouble.size,
             "--data-memory: no file without a name can be made in \"%.300s\": %s", directory,
             strerror(errno));
    return false;
}

static bool open_app(struct server *server, struct server_trouble trouble)
{
    const struct config *config = server->config;
    if (!columns_have_place(config, trouble))
        return false;
    const struct keys_source source = {
        .text = server->config->key, .file = config->key_file, .command = config->key_command};
    struct db *db = database_connect(server->database, trouble.text, trouble.size);
    if (!db)
        return false;
    server->books = db;
    /* A start that fails for its keys leaves no marks behind. */
    if (!config->works && !recovery_look(db, config->marks, trouble.text, trouble.size))
        return false;
    if (keys_directory(config->data, config->keys_dir, server->keys_path, sizeof server->keys_path,
                       trouble.text, trouble.size))
        server->keys =
            keys_open(config->data, server->keys_path, &source, db, trouble.text, trouble.size);
    if (!server->keys)
        return false;
    if (!config->works && !recovery_begin(db, config->marks, clock_now_ms(), &server->marks,
                                          trouble.text, trouble.size))
        return false;
    struct recovery_life life;
    if (recovery_life(db, &life) != DB_OK) {
        snprintf(trouble.text, trouble.size, "the database cannot be read: %s", db_last_error(db));
        return false;
    }
    if (life.number > 1)
        log_event(
            LOG_LEVEL_INFO, "restored-service",
            "life=%lld note=\"it was restored from a backup: keys that may have been answered "
            "before are refused\"",
            (long long)life.number);
    struct api_settings settings = {
        .now_ms = clock_now_ms,
        .max_body_bytes = config->max_body_bytes,
        .max_upload_bytes = config->max_upload_bytes,
        .max_policy_bytes = config->max_policy_bytes,
        .data_memory_bytes = config->data_memory_bytes,
        .columns_dir = columns_directory(config),
        .client_disk_bytes = config->client_disk_bytes,
        .max_states_per_query = (uint32_t)config->max_states_per_query,
        .max_experts_per_dataset = (uint32_t)config->max_experts_per_dataset,
        .keep_answers_days = (uint32_t)config->keep_answers_days,
        .keep_entries_days = (uint32_t)config->keep_entries_days,
        .answers_from_ms = server->answers_from_ms,
        .answered_ms = life.answered_ms,
        .life = life.number,
        .life_id = life.id,
        .cors_origins = config->cors_origins,
        .log_origin = config->log_origin,
        .version = TACET_VERSION,
        .keys = server->keys,
        .worlds = server->worlds,
        .identity = issuer_identity(server->issuer),
        .metrics = metrics_write,
        .metrics_context = server->metrics,
        .ready = server_ready,
        .ready_context = server,
    };
    if (!data_dir_signing_seed(config->data, settings.signing_seed, trouble.text, trouble.size))
        return false;
    data_dir_seed_mark(settings.signing_seed, server->seed_mark);
    server->app = api_open(&settings);
    sodium_memzero(settings.signing_seed, sizeof settings.signing_seed);
    if (!server->app)
        snprintf(trouble.text, trouble.size, "the system gives no randomness");
    return server->app && api_private_begin(server->app, db, trouble.text, trouble.size);
}

/* Opens the database and what stands on it. A disk that is full fails them in many words. */
static bool open_service(struct server *server, struct server_trouble trouble)
{
    struct statvfs disk;
    if (open_database(server, trouble) && open_app(server, trouble))
        return true;
    size_t used = strlen(trouble.text);
    if (statvfs(server->config->data, &disk) != 0)
        return false;
    unsigned long long bytes = (unsigned long long)disk.f_bavail * disk.f_frsize;
    if (bytes < FULL_BYTES)
        snprintf(trouble.text + used, trouble.size - used,
                 ". The disk of the data directory is full: %llu KiB are free", bytes >> 10);
    return false;
}

/* The port is open: who reads of it may connect, and waits until the service accepts. */
static bool write_port_file(const struct server *server, struct server_trouble trouble)
{
    char port[16];
    snprintf(port, sizeof port, "%u\n", server->listening.port);
    return server->config->port_file[0] == '\0' ||
           data_dir_write_whole(server->config->port_file, port, strlen(port), trouble.text,
                                trouble.size);
}

static bool connect_many(struct server *server, struct db **out, unsigned count,
                         struct server_trouble trouble)
{
    for (unsigned i = 0; i < count; i++) {
        out[i] = database_connect(server->database, trouble.text, trouble.size);
        if (!out[i])
            return false;
    }
    return true;
}

static unsigned worker_count(const struct config *config)
{
    unsigned cores = helpers_cores();
    if (config->workers != CONFIG_AUTO)
        return (unsigned)config->workers;
    return cores > 1 ? cores - 1 : 1;
}

/* Starts what runs jobs; nothing with 0 workers. */
static bool start_jobs(struct server *server, struct server_trouble trouble)
{
    struct db *many[HELPERS_CORES_MAX];
    unsigned workers = worker_count(server->config);
    if (workers == 0)
        return true;
    if (!connect_many(server, many, workers, trouble))
        return false;
    server->helpers = helpers_start(helpers_cores() - 1);
    server->runner = runner_start(server->app, many, workers, server->helpers, server->metrics);
    if (!server->runner)
        snprintf(trouble.text, trouble.size, "no more threads can be started");
    return server->runner;
}

static bool start_webhooks(struct server *server, struct server_trouble trouble)
{
    struct db *many[WEBHOOKS_MOST];
    return connect_many(server, many, webhooks_count(server->webhooks), trouble) &&
           webhooks_follow(server->webhooks, many, database_heed);
}

static bool start_lanes(struct server *server, struct server_trouble trouble)
{
    const struct config *config = server->config;
    struct app *app = server->app;
    unsigned queue = (unsigned)config->queue;
    unsigned threads = (unsigned)config->pool_threads;
    unsigned planners = (unsigned)config->planners;
    unsigned uploads = (unsigned)config->uploads;
    unsigned cores = helpers_cores();
    struct lane_limits batch = lane_fair_limits(queue, queue, queue);
    struct db *single[3], *many[HELPERS_CORES_MAX];
    if (!connect_many(server, single, 3, trouble))
        return false;
    server->door = single[2];
    db_hurry(server->door);
    batch.light = LIGHT_BYTES;
    server->committer =
        committer_start(app, single[0], server->metrics, batch, (unsigned)config->batch);
    if (!server->committer) {
        snprintf(trouble.text, trouble.size, "no more threads can be started");
        return false;
    }
    server->events = events_start(app, single[1], server->metrics, (unsigned)config->event_streams);
    if (!connect_many(server, many, threads, trouble))
        return false;
    server->pool = pool_start(app, many, threads, lane_fair_limits(queue, threads, cores));
    if (!connect_many(server, many, planners, trouble))
        return false;
    server->plans = pool_start(app, many, planners, lane_fair_limits(queue, planners, cores));
    if (!connect_many(server, many, uploads, trouble))
        return false;
    server->uploads = pool_start(app, many, uploads, lane_fair_limits(uploads, uploads, uploads));
    if (!connect_many(server, single, 1, trouble))
        return false;
    server->pruner = pruner_start(app, single[0], server->keys_path);
    if (server->watched.handle >= 0) {
        if (!connect_many(server, single, 1, trouble))
            return false;
        db_hurry(single[0]); /* it is looked at while a standby or the database is away */
        server->door_of_metrics = metrics_door_start(app, single[0], server->watched.handle);
        log_event(LOG_LEVEL_INFO, "metrics", "url=http://%s:%u/metrics", server->watched.host,
                  server->watched.port);
    }
    bool started = (server->door_of_metrics || server->watched.handle < 0) && server->events &&
                   server->pool && server->plans && server->uploads && server->pruner;
    if (!started)
        snprintf(trouble.text, trouble.size, "no more threads can be started");
    return started;
}

static bool start_httpd(struct server *server, struct server_trouble trouble)
{
    const struct config *config = server->config;
    struct httpd_settings settings = {
        .app = server->app,
        .db = server->door,
        .batch = committer_lane(server->committer),
        .pool = pool_lane(server->pool),
        .plans = pool_lane(server->plans),
        .uploads = pool_lane(server->uploads),
        .events = server->events,
        .metrics = server->metrics,
        .accepted = job_accepted,
        .accepted_context = server,
        .tls_cert = server->tls.pem.cert,
        .tls_key = server->tls.pem.key,
        .tls_keys = server->tls.keys,
        .tls_client_ca = server->tls.pem.client_ca,
        .tls_priorities = config->tls_priorities,
        .connections = (unsigned)config->connections,
        .connections_per_ip = (unsigned)config->connections_per_ip,
        .connections_per_client = (unsigned)config->connections_per_client,
        .client_rate = (unsigned)config->client_rate,
        .address_rate = (unsigned)config->address_rate,
        .head_timeout_s = (unsigned)config->head_timeout_s,
        .idle_timeout_s = (unsigned)config->idle_timeout_s,
        .pace = {config->body_timeout_s, config->least_rate, config->body_deadline_s,
                 config->upload_deadline_s},
        .max_buffered_bytes = config->max_buffered_bytes,
        .max_body_bytes = config->max_body_bytes > config->max_policy_bytes
                              ? config->max_body_bytes
                              : config->max_policy_bytes,
        .event_streams = (unsigned)config->event_streams,
        .access_log = config->access_log,
    };
    server->httpd = httpd_start(&settings, server->listening.handle, trouble.text, trouble.size);
    if (!server->httpd)
        return false;
    sodium_free(server->tls.pem.key); /* the library has its own form of it */
    server->tls.pem.key = NULL;
    server->listening.handle = -1;
    snprintf(server->url, sizeof server->url, "http%s://%s:%u", server->tls.keys ? "s" : "",
             server->listening.host, server->listening.port);
    return true;
}

struct server *server_start(struct config *config, const struct worlds *worlds, char *error,
                            size_t error_size)
{
    const struct database_place place = {
        .directory = config->data, .url = config->database, .marks = config->marks};
    struct server_trouble trouble = {error, error_size};
    struct server *server = memory_new(1, sizeof *server);
    server->config = config;
    server->worlds = worlds;
    server->locks[0] = server->locks[1] = server->listening.handle = server->watched.handle = -1;
    server->metrics = metrics_new();
    metrics_about(server->metrics, TACET_VERSION, config->data, !database_is_remote(&place));
    atomic_init(&server->draining, false);
    raise_descriptor_limit();
    helpers_answer_soon(HELPER_ANSWER_SLICE_NS);
    warn_of_root();
    error[0] = '\0';
    if (!config->works)
        server->issuer = issuer_open(config, error, error_size);
    if (!config->works && error[0] == '\0')
        server->webhooks =
            webhooks_open(config->webhooks.text, config->webhooks.count,
                          (struct webhooks_secret){config, sizeof *config}, error, error_size);
    /* Steps that may fail and leave no trace come before the directory is made. */
    if (error[0] != '\0' || (!config->works && !open_door(server, trouble)) ||
        database_find(&place, error, error_size) == DATA_DIR_LOST ||
        !data_dir_make(config->data, error, error_size) ||
        !data_dir_lock(config->data, server->locks, error, error_size) ||
        !open_service(server, trouble) || (!config->works && !write_port_file(server, trouble)))
        goto cleanup;
    /* What is not beneath the data directory is open now; threads and clients come after this. */
    confine_process((const char *const[]){config->data, server->keys_path,
                                          columns_directory(config),
                                          server->marks ? config->marks : NULL},
                    config->confine, database_is_remote(&place));
    if (server->issuer && !issuer_follow(server->issuer))
        snprintf(error, error_size, "no more threads can be started");
    else if (start_jobs(server, trouble) &&
             (config->works || (start_webhooks(server, trouble) && start_lanes(server, trouble) &&
                                start_httpd(server, trouble))))
        return server;
cleanup:
    server_stop(server);
    return NULL;
}

const char *server_url(const struct server *server)
{
    return server->url;
}

bool server_renew(struct server *server, struct reopen *files, char *error, size_t error_size)
{
    bool renewed = tls_files_renew(&server->tls, server->config, files, error, error_size);
    note_certificate(server);
    return renewed;
}

void server_drain(struct server *server)
{
    atomic_store(&server->draining, true);
    if (server->httpd) {
        httpd_drain(server->httpd);
        events_end_all(server->events);
    }
    if (server->runner)
        runner_ask_to_stop(server->runner);
}

bool server_is_quiet(struct server *server)
{
    return metrics_get(server->metrics, METRICS_REQUESTS_IN_FLIGHT) == 0 &&
           (!server->runner || runner_has_stopped(server->runner));
}

void server_stop(struct server *server)
{
    if (!server)
        return;
    httpd_stop(server->httpd);
    pool_stop(server->pool);
    pool_stop(server->plans);
    pool_stop(server->uploads);
    committer_stop(server->committer);
    webhooks_close(server->webhooks);
    metrics_door_stop(server->door_of_metrics); /* asks the pruner */
    pruner_stop(server->pruner);
    events_stop(server->events);
    runner_stop(server->runner);
    helpers_stop(server->helpers);
    httpd_free(server->httpd);
    if (server->app)
        api_close(server->app);
    keyring_close(server->keys);
    issuer_close(server->issuer);
    recovery_end(server->books, server->marks);
    database_close(server->database);
    marks_close(server->marks);
    metrics_free(server->metrics);
    tls_files_close(&server->tls);
    if (server->listening.handle >= 0)
        close(server->listening.handle);
    if (server->watched.handle >= 0)
        close(server->watched.handle);
    for (unsigned i = 0; i < 2; i++)
        if (server->locks[i] >= 0)
            close(server->locks[i]);
    free(server);
}
