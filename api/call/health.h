/* Is the server there, is it ready, and how is it doing. */
#ifndef TACET_API_CALL_HEALTH_H
#define TACET_API_CALL_HEALTH_H

#include "api/call/call.h"

/* GET /healthz/live */
enum problem api_health_live(struct call *call);

/* GET /healthz/ready */
enum problem api_health_ready(struct call *call);

/* GET /metrics */
enum problem api_metrics(struct call *call);

/* PROBLEM_NOT_READY when the server is not ready to serve. */
enum problem health_check_ready(struct call *call);

/* *OUT becomes the text of the metrics: those of settings.metrics, then a census read through DB.
 * The caller frees it. Not DB_OK: the census is not in it, and tacet_ready is 0. */
enum db_status health_metrics_text(struct app *app, struct db *db, char **out, size_t *out_size);

#endif
