/* Every reply advances the meter's time. The line about omitted lines is therefore written a second
 * after the flood began, or with the next request on a silent server. */
#include "server/request_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/os/log.h"
#include "storage/db/id.h"

#define WINDOW_US 1000000

uint64_t log_meter_end(struct log_meter *meter)
{
    uint64_t left_out = meter->left_out;
    *meter = (struct log_meter){0};
    return left_out;
}

uint64_t log_meter_turn(struct log_meter *meter, int64_t now_us)
{
    if (meter->written == 0 || now_us - meter->begun_us < WINDOW_US)
        return 0;
    return log_meter_end(meter);
}

bool log_meter_admit(struct log_meter *meter, int64_t now_us)
{
    if (meter->written == 0)
        meter->begun_us = now_us;
    if (meter->written == LOG_METER_LINES) {
        meter->left_out++;
        return false;
    }
    meter->written++;
    return true;
}

/* A method is the client's own text: only known words go into the log. */
static const char *known_method(const char *method)
{
    static const char *const known[] = {"GET",    "HEAD",    "POST",    "PUT",  "PATCH",
                                        "DELETE", "OPTIONS", "CONNECT", "TRACE"};
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(method, known[i]) == 0)
            return known[i];
    return "other";
}

/* ---- what a line says */

/* True when the SIZE bytes of TEXT are lower-case hexadecimal digits, not all of them 0. */
static bool is_hex(const char *text, size_t size)
{
    return strspn(text, "0123456789abcdef") >= size && strspn(text, "0") < size;
}

/* VERSION-TRACE-PARENT-FLAGS, and with a later version perhaps more behind a dash. */
static bool is_traceparent(const char *text)
{
    if (!text || strlen(text) < LOG_TRACEPARENT_SIZE - 1)
        return false;
    bool zero = strncmp(text, "00", 2) == 0;
    bool ends = zero ? text[55] == '\0' : text[55] == '\0' || text[55] == '-';
    return (zero || is_hex(text, 2)) && strncmp(text, "ff", 2) != 0 && text[2] == '-' &&
           is_hex(text + 3, 32) && text[35] == '-' && is_hex(text + 36, 16) && text[52] == '-' &&
           strspn(text + 53, "0123456789abcdef") >= 2 && ends;
}

void request_log_trace(const char *sent, const char *request_id, char out[LOG_TRACEPARENT_SIZE])
{
    const char *own = request_id + strlen("req_");
    if (is_traceparent(sent))
        snprintf(out, LOG_TRACEPARENT_SIZE, "00-%.32s-%.16s-%.2s", sent + 3, own, sent + 53);
    else
        snprintf(out, LOG_TRACEPARENT_SIZE, "00-%.24s%.8s-%.16s-00", own, own, own);
}

void request_log_resource(const char *path, char out[API_ID_SIZE])
{
    for (const char *at = path; *at != '\0'; at += strcspn(at, "/:")) {
        at += strspn(at, "/:");
        size_t size = strcspn(at, "/:"), prefix = strspn(at, "abcdefghijklmnopqrstuvwxyz") + 1;
        if (size >= API_ID_SIZE || prefix + ID_RANDOM != size || at[prefix - 1] != '_' ||
            strspn(at + prefix, "0123456789abcdefghjkmnpqrstvwxyz") < ID_RANDOM ||
            strncmp(at, "tct_", 4) == 0)
            continue;
        snprintf(out, API_ID_SIZE, "%.*s", (int)size, at);
        return;
    }
    snprintf(out, API_ID_SIZE, "-");
}

static void say_left_out(const char *kind, uint64_t count)
{
    if (count > 0)
        log_event(LOG_LEVEL_WARN, "requests-left-out", "status=%s count=%" PRIu64, kind, count);
}

static bool line_wanted(struct request_log *log, const struct exchange *exchange, int64_t now_us)
{
    int status = exchange->reply.status;
    if (log->every)
        return true;
    say_left_out("4xx", log_meter_turn(&log->refusals, now_us));
    say_left_out("5xx", log_meter_turn(&log->failures, now_us));
    if (status < 400)
        return false;
    if (status == 404 && strncmp(exchange->request.path, "/v1/", 4) != 0)
        return false;
    return log_meter_admit(status < 500 ? &log->refusals : &log->failures, now_us);
}

void request_log_reply(struct request_log *log, const struct exchange *exchange, int64_t now_us)
{
    const char *pattern = exchange->route.pattern ? exchange->route.pattern : "-";
    if (!line_wanted(log, exchange, now_us))
        return;
    enum log_level level = exchange->reply.status < 500 ? LOG_LEVEL_INFO : LOG_LEVEL_WARN;
    char trace[LOG_TRACEPARENT_SIZE], resource[API_ID_SIZE] = "-";
    const char *caller = exchange->caller[0] != '\0' ? exchange->caller : "-";
    request_log_trace(exchange_header(exchange, "traceparent"), exchange->request.request_id,
                      trace);
    if (exchange->route.route)
        request_log_resource(exchange->request.path, resource);
    log_event(level, "request",
              "method=%s route=%s status=%d request_id=%s outcome=%s client=%s resource=%s "
              "bytes=%zu us=%" PRId64 " traceparent=%s",
              known_method(exchange->method), pattern, exchange->reply.status,
              exchange->request.request_id,
              exchange->reply.problem ? exchange->reply.problem : "ok", caller, resource,
              exchange->reply.body_size, now_us - exchange->begun_us, trace);
}

void request_log_end(struct request_log *log)
{
    say_left_out("4xx", log_meter_end(&log->refusals));
    say_left_out("5xx", log_meter_end(&log->failures));
}
