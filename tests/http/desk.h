/* A steward at work on a running server: calls that must succeed, jobs and waiting for them, the
 * books. Every function here ends the test when it cannot do its work. */
#ifndef TACET_TESTS_HTTP_DESK_H
#define TACET_TESTS_HTTP_DESK_H

#include "tests/http/http_client.h"

struct desk {
    struct server_process *server;
    struct http_client *client;
    char steward[160];
};

/* A new steward of SERVER, which runs, and a connection. */
void desk_open(struct desk *desk, struct server_process *server);
void desk_close(struct desk *desk); /* the connection; the server is ended by who began it */

/* Calls as the steward; the answer must have STATUS (of desk_get: 200). BODY and KEY may be NULL.
 */
struct http_answer desk_call(const struct desk *desk, const char *method, long status,
                             const char *path, const char *body, const char *key);
struct http_answer desk_post(const struct desk *desk, long status, const char *path,
                             const char *body, const char *key);
struct http_answer desk_get(const struct desk *desk, const char *path);

/* Uploads LINES of NDJSON to an open dataset and seals it. */
void desk_fill(const struct desk *desk, const char *dataset, const char *lines);

/* Asks for the job BODY; its path. */
void desk_submit(const struct desk *desk, const char *body, const char *key, char out_path[96]);

/* Waits until the job has passed STEP or is over; gives the step it has, and its state. */
long long desk_wait_past(const struct desk *desk, const char *path, long long step,
                         char out_state[16]);

/* Waits until the job is over; it as it then is. */
struct http_answer desk_wait(const struct desk *desk, const char *path);

/* Ends the server by a signal, expecting the exit CODE, and starts it again. */
void desk_restart(struct desk *desk, int signal_number, int code);

/* Epsilon of a dataset's budget that is WHAT: "spent", "reserved", "remaining", "limit". */
double desk_epsilon(const struct desk *desk, const char *dataset, const char *what);

/* The ledger adds up. */
void desk_expect_whole_ledger(const struct desk *desk);

#endif
