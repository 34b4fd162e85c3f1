/* The interface between the sockets and the service: bytes in, status and bytes out. httpd.c, the
 * unit tests and the fuzzer call the same functions. Nothing here knows a socket or a thread; every
 * thread brings its own connection. */
#ifndef TACET_API_API_H
#define TACET_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/call/request.h"
#include "api/call/settings.h"
#include "api/jobs/run/job_turn.h"

#define API_ID_SIZE 32

struct db;
struct app;
struct route;

/* ---- process lifetime */

/* What all threads share, made from SETTINGS, which are copied. NULL when randomness is missing. */
struct app *api_open(const struct api_settings *settings);

/* Whether NAME may be settings' log_origin, if it is not "". */
bool api_log_origin_good(const char *name);

/* Frees APP; its secret key is wiped. NULL is fine. */
void api_close(struct app *app);

/* Checks that the keys of the settings are those of DB, and encrypts what earlier versions stored
 * in clear. Before the first request. False: ERROR holds a sentence. */
bool api_private_begin(struct app *app, struct db *db, char *error, size_t error_size);

/* Removes some of the answers, and folds some of the ledger's debits, that are older than settings
 * say, and erases some of the experts who are older than their datasets say; does nothing with what
 * is kept for ever. *out_more: there is more to do at once. DB is a connection outside of any
 * transaction; one thread at a time. False: db_last_error says why one of them was not done. */
bool api_prune(struct app *app, struct db *db, bool *out_more);

/* Ends erasures that others began, whatever the clock shows. DB, the thread and the reply are as
 * for api_prune. */
bool api_end_erasures(struct app *app, struct db *db);

/* Appends the refusals of the last seconds to the audit trail. DB as for api_prune; any thread.
 * False: db_last_error says why not; they are kept. */
bool api_write_refusals(struct app *app, struct db *db);

/* The service's metrics as Prometheus's text: those of settings.metrics, then jobs and budgets of
 * all tenants together, read through DB; without the latter, and with tacet_ready 0, when DB cannot
 * be read. The caller frees it. NULL: it is too long. */
char *api_metrics_text(struct app *app, struct db *db, size_t *out_size);

/* ---- one request */

/* What the server must know before it reads a body: where to run and how much may come. */
struct api_route_info {
    enum api_lane lane;
    uint64_t max_body_bytes;
    bool writes;               /* the batch needs a writing transaction */
    bool quick;                /* try api_serve_quick first */
    bool may_be_heavy;         /* ask api_is_heavy */
    bool settles;              /* db_settle must allow to tell what it read */
    bool stores;               /* but not where it succeeds: that is stored by a commit */
    bool open;                 /* nobody is asked who they are */
    bool timed;                /* metrics may show how long it takes */
    const char *pattern;       /* "/v1/datasets/{id}", for metrics and log; static text */
    const struct route *route; /* for the request, which then need not look again; or NULL */
};

/* Finds the row of METHOD and PATH (without a query); without one, what a refusal needs. Any
 * thread. */
struct api_route_info api_route(const struct app *app, const char *method, const char *path);

struct admitted; /* of admitted.h: one thread's memory of callers; api_admitted_new makes it */

enum api_admission {
    API_ADMITTED, /* the caller is known and has a role that may do this */
    API_NEWCOMER, /* the same, and serving the request stores the caller: it writes */
    API_PUBLIC,   /* no token is asked for; without a body */
    API_REFUSED,  /* *reply says why */
};

/* Decides at the headers whether REQUEST, whose route was looked up, may send its body: route,
 * method, token and role. *out_client is a number that stands for the caller as long as ADMITTED
 * lives, 0 if it is not admitted. OUT_ID receives the client's id, also of one whose role does not
 * fit; "": nobody that is known. DB is this thread's connection; only read. */
enum api_admission api_admit(struct app *app, struct db *db, struct admitted *admitted,
                             const struct api_request *request, uint64_t *out_client,
                             char out_id[API_ID_SIZE], struct api_reply *reply);

/* The memory that api_admit needs; free() ends it. */
struct admitted *api_admitted_new(void);

/* Says that REQUEST, which changes something, will be served in DB's open batch. To say it of all
 * requests of a batch before the first is served makes the batch cheaper. */
void api_expect(struct db *db, const struct api_request *request);

/* Serves one request on this thread's connection DB. Inside a batch (db_begin_batch) the reply may
 * leave only after the batch is on disk; outside of one, where it only read, after db_settle.
 * Always fills *reply; api_reply_clear frees it. What is served inline reads no database. */
void api_serve(struct app *app, struct db *db, const struct api_request *request,
               struct api_reply *reply);

/* To be said at the end of each batch that served requests: whether their replies may leave. */
void api_settled(struct app *app, bool good);

/* Answers a small request to a route that is quick, on any thread and without a database, when the
 * caller was admitted a moment ago (pass.h). False, *reply untouched: take its lane. */
bool api_serve_quick(struct app *app, const struct api_request *request, struct api_reply *reply);

/* True when a request whose route may be heavy computes for longer than its other work takes. It
 * should then run on a pool thread, in a transaction of its own, because it would delay a batch.
 * Any thread, no database. */
bool api_is_heavy(const struct app *app, const struct api_request *request);

/* The problem reply that the server itself needs: "body-too-large", "overloaded", "shutting-down",
 * "storage-full", "request-timeout", "internal-error", ... (slugs of the table in problem.c). */
void api_problem_reply(const char *slug, const char *detail, const char *request_id,
                       struct api_reply *reply);

/* As api_problem_reply, with the request's path as "instance". The detail of "body-too-large" is
 * replaced by one that names the limit of the request's route. */
void api_problem_reply_to(const struct app *app, const char *slug, const char *detail,
                          const struct api_request *request, struct api_reply *reply);

#endif
