/* One process of the service without sockets and threads: its start, its lanes one call at a time,
 * and its end. What httpd_request.c, pool.c and runner.c do on their threads is done here by who
 * calls. */
#ifndef TACET_TESTS_SIMULATOR_SERVICE_H
#define TACET_TESTS_SIMULATOR_SERVICE_H

#include "api/api.h"
#include "server/exchange.h"
#include "tests/simulator/disk.h"

#define SERVICE_POOL    2
#define SERVICE_WORKERS 2

struct service {
    char directory[112];
    struct keyring *keys;
    struct app *app;
    struct admitted *admitted;
    struct metrics *metrics;
    struct database *database;
    struct db *door, *committer, *auditor; /* the auditor is the simulator's own connection */
    struct db *pool[SERVICE_POOL], *worker[SERVICE_WORKERS], *pruner;
    bool pool_busy[SERVICE_POOL], worker_busy[SERVICE_WORKERS];
    int64_t answers_from_ms; /* as its start read it */
};

/* The clock of every process. */
extern int64_t service_clock_ms;

/* --keep-answers of every process. */
extern uint32_t service_keep_days;

/* Starts a process on DIRECTORY as server.c does: recovery, and the audits of ledger and answers,
 * if AUDITS. False: WHY says what went wrong. */
bool service_start(struct service *service, const char *directory, bool audits, char *why,
                   size_t size);

/* Ends it, in order or where it stands dead. */
void service_end(struct service *service);

struct service_request {
    const char *method, *path, *token, *key, *body; /* the last three, and MATCH: NULL for none */
    const char *match;                              /* If-Match */
};

enum service_way {
    SERVICE_ANSWERED, /* the reply is there */
    SERVICE_BATCH,    /* it waits for service_commit */
    SERVICE_THREAD,   /* for service_run */
};

/* Receives a request as the socket's thread does. RESUME is called with CONTEXT by exchange_finish
 * when its reply may leave. */
struct exchange *service_receive(struct service *service, const struct service_request *request,
                                 void (*resume)(void *context), void *context,
                                 enum service_way *out_way);

/* Serves LIST in one batch. The replies may leave unless disk.dead. */
void service_commit(struct service *service, struct exchange *list);

/* Serves one exchange on pool thread I. The same. */
void service_run(struct service *service, unsigned i, struct exchange *exchange);

#endif
