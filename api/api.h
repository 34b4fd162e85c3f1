/* The door between the sockets and everything else: bytes in, status and bytes out. httpd.c, the
 * unit tests and the fuzzer call the same functions. Nothing here knows a socket or a thread; every
 * thread brings its own connection. */
#ifndef TACET_API_API_H
#define TACET_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct app;
struct route;
struct worlds;

/* ---- process lifetime
 * ------------------------------------------------------------------------------------------ */

/* What the server tells the api once. Texts are borrowed for the life of the app. */
struct api_settings {
    int64_t (*now_ms)(void);          /* wall clock, milliseconds since the epoch */
    unsigned char signing_seed[32];   /* Ed25519, for certificates */
    uint64_t max_body_bytes;          /* of a JSON request; default 1 MiB */
    uint64_t max_upload_bytes;        /* of an upload as sent; default 4 GiB */
    uint64_t max_policy_bytes;        /* of an uploaded network; default 16 MiB */
    uint32_t max_states_per_query;    /* default 1024 */
    uint32_t max_experts_per_dataset; /* default 100000 */
    const char *cors_origins;         /* comma-separated allow-list, "" for none */
    const char *version;
    const struct worlds *worlds; /* of worlds.h; outlives the app. NULL: those built in alone */
    /* Writes Prometheus text of the server's own counters to BUFFER; NULL for none. */
    size_t (*metrics)(void *context, char *buffer, size_t size);
    void *metrics_context;
    bool (*ready)(void *context,
                  const char **why_not); /* workers up, disk writable, not draining; NULL: always */
    void *ready_context;
};

/* NULL when memory or randomness is short. The app is shared by all threads. */
struct app *api_open(const struct api_settings *settings);
void api_close(struct app *app);

/* ---- one request
 * -----------------------------------------------------------------------------------------------
 */

/* Where a route wants to run. */
enum api_lane {
    API_LANE_BATCH,  /* short: many requests share one transaction and one fsync on the committer's
                        thread */
    API_LANE_POOL,   /* may compute for a while: a pool thread, its own transaction */
    API_LANE_STREAM, /* reads its body as it arrives: a pool thread */
    API_LANE_INLINE, /* static bytes, touches no database: answered where it was received */
};

struct api_reader { /* a body that arrives: READ blocks; gives bytes read, 0 at the end, -1 when the
                       client is gone */
    void *context;
    long (*read)(void *context, unsigned char *buffer, size_t size);
};

struct api_request {
    const char *method; /* "GET" ... */
    const char *path;   /* percent-encoded as received, without the query */
    const char *query;  /* after '?', percent-encoded, or "" */
    void *header_context;
    const char *(*header)(void *context, const char *name); /* NULL when absent; case-insensitive */
    const unsigned char *body; /* complete body for all lanes but STREAM */
    size_t body_size;
    struct api_reader reader; /* STREAM only */
    char request_id[40];
    const struct route *route; /* as api_route found it; NULL: it is looked for */
    struct api_ahead *ahead;   /* by api_run_ahead; NULL: nothing. api_ahead_free when answered */
};

#define API_REPLY_HEADERS 8

/* Server-sent events: NEXT writes at most SIZE bytes of events that are due; 0: nothing now, ask
 * again in a second; -1: the stream is over. FREE ends it. Called from one thread at a time with
 * that thread's connection. */
struct api_events {
    void *context;
    long (*next)(void *context, struct app *app, struct db *db, char *buffer, size_t size);
    void (*free)(void *context);
};

struct api_reply {
    int status;
    const char *content_type; /* static text */
    char *body;               /* owned by the reply; NULL when static_body or empty */
    const char *static_body;  /* lives as long as the process */
    size_t body_size;
    struct {
        const char *name; /* static text */
        char value[232];
    } headers[API_REPLY_HEADERS];
    unsigned header_count;
    struct api_events events; /* next != NULL: an event stream instead of a body */
};

/* What the server must know before it reads a body: where to run and how much may come. */
struct api_route_info {
    enum api_lane lane;
    uint64_t max_body_bytes;
    bool writes;               /* the batch needs a writing transaction */
    bool quick;                /* try api_serve_quick first */
    bool ahead;                /* ask api_runs_ahead */
    const char *pattern;       /* "/v1/datasets/{id}", for metrics and log; static text */
    const struct route *route; /* for the request, which then need not look again; or NULL */
};
struct api_route_info api_route(const struct app *app, const char *method, const char *path);

/* Serves one request on this thread's connection DB. Inside a batch (db_begin_batch) the reply may
 * leave only after the batch is on disk. Always fills *reply; api_reply_clear frees it. DB may be
 * NULL for API_LANE_INLINE. */
void api_serve(struct app *app, struct db *db, const struct api_request *request,
               struct api_reply *reply);

/* Answers a small request to a route that is quick, on any thread and without a database, when who
 * asks was found good a moment ago (q_pass.h). False, *reply untouched: take its lane. */
bool api_serve_quick(struct app *app, const struct api_request *request, struct api_reply *reply);

/* Whether a request whose route says "ahead" is worth being run ahead: its sums take longer than
 * the rest of it. Any thread, no database. */
bool api_runs_ahead(const struct app *app, const struct api_request *request);

/* Computes on this thread's connection, outside any transaction, what api_serve will then find in
 * request->ahead. It changes and answers nothing: a request that will be refused gets its refusal
 * from api_serve. */
void api_run_ahead(struct app *app, struct db *db, struct api_request *request);
void api_ahead_free(struct api_ahead *ahead); /* wipes; NULL is fine */

/* The problem reply that the server itself needs: "body-too-large", "overloaded", "shutting-down",
 * "storage-full", "request-timeout", "internal-error", ... (slugs of the table in problem.c). */
void api_problem_reply(const struct app *app, const char *slug, const char *detail,
                       const char *request_id, struct api_reply *reply);
/* The same with the request's path as "instance"; the detail of "body-too-large" is replaced by one
 * that names the limit of the request's route. */
void api_problem_reply_to(const struct app *app, const char *slug, const char *detail,
                          const struct api_request *request, struct api_reply *reply);
void api_reply_clear(struct api_reply *reply);

/* ---- beside requests
 * ------------------------------------------------------------------------------------------- */

/* Makes a client and gives its token ("tct_<id>_<secret>", shown once). NULL on success, else a
 * sentence. */
const char *api_client_create(struct app *app, struct db *db, const char *name, const char *role,
                              char token[160]);

/* One turn of a job worker. */
struct api_job_control {
    const char *worker;                    /* unique name of this worker thread, owner of leases */
    bool (*stop_requested)(void *context); /* asked at every pulse: save and pause */
    void *context;
    /* JOB, which an earlier worker had, trains on from STEP, that of its checkpoint (0: it has none
     * yet). For the log; NULL for nobody. */
    void (*resumed)(void *context, const char *job, uint64_t step);
    /* Calls work(what, i) for every i below COUNT, on several threads when some are free, and
     * returns when all have ended. NULL: the worker is alone. */
    void (*parallel)(void *context, void (*work)(void *what, uint32_t i), void *what,
                     uint32_t count);
};
enum api_job_turn {
    API_JOB_NONE,   /* nothing to do */
    API_JOB_RAN,    /* one job came to an end of any kind */
    API_JOB_PAUSED, /* stopped, or short of memory; the job goes on from its checkpoint later */
    API_JOB_FAILED_STORAGE, /* the database failed; see db_broken */
};
/* Claims the oldest job that may run, runs it, stores its end. Logs nothing; OUT_NOTE receives a
 * line for the log (job id, algorithm, outcome; no data). */
enum api_job_turn api_job_turn(struct app *app, struct db *db,
                               const struct api_job_control *control, char out_note[256]);

/* The table of routes, for the contract test: INDEX from 0; false past the end. */
bool api_route_at(unsigned index, const char **out_method, const char **out_pattern);

#endif
