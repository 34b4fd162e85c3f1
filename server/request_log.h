/* The log's lines about requests: every refusal, or every request, with public facts only. A flood
 * of refusals must not fill the disk, so a meter counts lines. */
#ifndef TACET_SERVER_REQUEST_LOG_H
#define TACET_SERVER_REQUEST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "server/exchange.h"

#define LOG_METER_LINES 50 /* in one second, at most */

/* Windows of one second, counted from the first line in each, so that silence costs nothing. One
 * thread's own; all zero is ready to use. */
struct log_meter {
    int64_t begun_us; /* of the window, on the caller's monotonic clock */
    unsigned written; /* lines of the window; 0: there is none */
    uint64_t left_out;
};

/* Ends a window that is a second old by NOW_US. Returns how many lines it left out, which the
 * caller then logs in one line; 0: none. To be called at every occasion. */
uint64_t log_meter_turn(struct log_meter *meter, int64_t now_us);

/* True: a line may be written now. False: it is counted as left out. */
bool log_meter_admit(struct log_meter *meter, int64_t now_us);

/* Ends the window whatever its age, as log_meter_turn does: for the end of the process. */
uint64_t log_meter_end(struct log_meter *meter);

/* One thread's own. All zero and EVERY set is ready to use. */
struct request_log {
    bool every;                /* a line for every request, without a limit */
    struct log_meter refusals; /* 4xx, counted apart: a flood of refusals hides no failure */
    struct log_meter failures; /* 5xx */
};

/* The reply of EXCHANGE leaves at NOW_US (clock_now_us). Writes method, route pattern, status,
 * outcome ("ok" or the slug of a problem), request id, the client's id, the resource's id, bytes,
 * microseconds and traceparent: for every request when log->every; else for a status of 400 and
 * more, up to LOG_METER_LINES a second of each hundred, and then how many were left out. A missing
 * file that browsers ask for (/favicon.ico) gets no line. Never a query, a body, a token, or what a
 * path holds beside ids of ours; a method that HTTP does not know is "other". */
void request_log_reply(struct request_log *log, const struct exchange *exchange, int64_t now_us);

#define LOG_TRACEPARENT_SIZE 56

/* Writes the traceparent of our part of a request (W3C Trace Context, version 00): in the trace
 * that SENT, the request's header, names; in a new one when SENT is NULL or not of that form.
 * REQUEST_ID
 * ("req_" and 24 hexadecimal digits) gives our span its number. */
void request_log_trace(const char *sent, const char *request_id, char out[LOG_TRACEPARENT_SIZE]);

/* Writes the first part of PATH that has the form of an id of ours (and not of a token); "-" when
 * there is none. */
void request_log_resource(const char *path, char out[API_ID_SIZE]);

/* Logs how many lines were left out and not reported yet. */
void request_log_end(struct request_log *log);

#endif
