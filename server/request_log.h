/* The log's lines about requests: every refusal, or every request, by what is public of it. */
#ifndef TACET_SERVER_REQUEST_LOG_H
#define TACET_SERVER_REQUEST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "server/exchange.h"
#include "server/log_meter.h"

/* One thread's own. All zero and EVERY set is ready to use. */
struct request_log {
    bool every;                /* a line for every request, without a limit */
    struct log_meter refusals; /* 4xx; their flood does not hide a failure */
    struct log_meter failures; /* 5xx */
};

/* The reply of EXCHANGE leaves at NOW_US (clock_now_us). Writes method, route pattern, status,
 * request id, bytes and microseconds: for every request when log->every; else for a status of 400
 * and more, up to LOG_METER_LINES a second of each hundred, and then how many were left out. What
 * a browser asks for beside the API (/favicon.ico) and is not there gets no line. Never a path's
 * values, a query, a header or a body; a method that HTTP does not know is "other". */
void request_log_reply(struct request_log *log, const struct exchange *exchange, int64_t now_us);

/* Logs how many lines were left out and not reported yet. */
void request_log_end(struct request_log *log);

#endif
