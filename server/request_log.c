/* Every reply advances the meter's time. The line about omitted lines is therefore written a second
 * after the flood began, or with the next request on a silent server. */
#include "server/request_log.h"

#include <inttypes.h>
#include <string.h>

#include "server/os/log.h"

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
    log_event(level, "request", "method=%s route=%s status=%d request_id=%s bytes=%zu us=%" PRId64,
              known_method(exchange->method), pattern, exchange->reply.status,
              exchange->request.request_id, exchange->reply.body_size, now_us - exchange->begun_us);
}

void request_log_end(struct request_log *log)
{
    say_left_out("4xx", log_meter_end(&log->refusals));
    say_left_out("5xx", log_meter_end(&log->failures));
}
