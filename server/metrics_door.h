/* A door of its own for the metrics (--metrics-listen): a thread that answers GET /metrics and
 * GET /healthz/ready and knows nothing else, so that who watches the service needs neither a token
 * nor a way to it. */
#ifndef TACET_SERVER_METRICS_DOOR_H
#define TACET_SERVER_METRICS_DOOR_H

struct app;
struct db;
struct metrics_door;

/* Starts the thread on LISTEN_SOCKET and on its own connection DB; both stay the caller's. NULL: no
 * thread. */
struct metrics_door *metrics_door_start(struct app *app, struct db *db, int listen_socket);

/* Ends the thread. NULL is fine. */
void metrics_door_stop(struct metrics_door *door);

#endif
