/* Lock-free counters. A route's row is found by the address of its pattern, which is static text:
 * rows are claimed once and never move. One thread counts requests, others read what it counted. */
#include "server/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory/memory.h"

#define ROUTES_MAX   128
#define BUCKET_COUNT 10

static const int STATUSES[] = {200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408,
                               409, 412, 413, 414, 415, 422, 428, 429, 431, 500, 503};
#define STATUS_COUNT (sizeof STATUSES / sizeof STATUSES[0])

/* Upper ends in microseconds; the last one is open. */
static const uint64_t BUCKETS[BUCKET_COUNT - 1] = {250,    1000,   2500,    10000,   25000,
                                                   100000, 250000, 1000000, 10000000};

struct route_counters {
    _Atomic(const char *) pattern;
    atomic_uint_fast64_t statuses[STATUS_COUNT + 1]; /* the last counts all other statuses */
    atomic_uint_fast64_t buckets[BUCKET_COUNT];
    atomic_uint_fast64_t microseconds;
};

struct metrics {
    atomic_int_fast64_t values[METRICS_VALUE_COUNT];
    struct route_counters routes[ROUTES_MAX];
};

static const struct {
    const char *name, *type, *help;
} VALUES[METRICS_VALUE_COUNT] = {
    [METRICS_REQUESTS_IN_FLIGHT] = {"requests_in_flight", "gauge", "Requests being answered."},
    [METRICS_EVENT_STREAMS] = {"event_streams", "gauge", "Open event streams."},
    [METRICS_UPLOADS] = {"uploads", "gauge", "Uploads being received."},
    [METRICS_JOBS_RUNNING] = {"jobs_running", "gauge", "Jobs running in this process."},
    [METRICS_JOB_TURNS] = {"job_turns_total", "counter", "Turns of job workers that had work."},
    [METRICS_BATCHES] = {"batches_total", "counter", "Group commits."},
    [METRICS_BATCHED_REQUESTS] = {"batched_requests_total", "counter", "Requests in them."},
    [METRICS_BATCH_RETRIES] = {"batch_retries_total", "counter", "Batches run again."},
    [METRICS_BATCH_FAILURES] = {"batch_failures_total", "counter", "Batches not committed."},
    [METRICS_OVERLOADED] = {"overloaded_total", "counter", "Requests turned away, queues full."},
};

struct metrics *metrics_new(void)
{
    return memory_new(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics)
{
    free(metrics);
}

void metrics_add(struct metrics *metrics, enum metrics_value value, int64_t amount)
{
    atomic_fetch_add_explicit(&metrics->values[value], amount, memory_order_relaxed);
}

int64_t metrics_get(const struct metrics *metrics, enum metrics_value value)
{
    return atomic_load_explicit(&metrics->values[value], memory_order_relaxed);
}

static struct route_counters *row_of(struct metrics *metrics, const char *pattern)
{
    size_t start = ((uintptr_t)pattern >> 3) % ROUTES_MAX;
    for (size_t i = 0; i < ROUTES_MAX; i++) {
        struct route_counters *row = &metrics->routes[(start + i) % ROUTES_MAX];
        const char *there = atomic_load_explicit(&row->pattern, memory_order_acquire);
        if (!there)
            atomic_store_explicit(&row->pattern, pattern, memory_order_release);
        if (!there || there == pattern)
            return row;
    }
    return NULL;
}

/* Raises a counter that has only one writer. */
static void raise_by(atomic_uint_fast64_t *counter, uint64_t amount)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + amount, memory_order_relaxed);
}

void metrics_request(struct metrics *metrics, const char *pattern, int status,
                     uint64_t microseconds)
{
    struct route_counters *row = row_of(metrics, pattern ? pattern : "none");
    if (!row)
        return;
    size_t s = 0, b = 0;
    while (s < STATUS_COUNT && STATUSES[s] != status)
        s++;
    while (b < BUCKET_COUNT - 1 && microseconds > BUCKETS[b])
        b++;
    raise_by(&row->statuses[s], 1);
    if (microseconds == METRICS_UNTIMED)
        return;
    raise_by(&row->buckets[b], 1);
    raise_by(&row->microseconds, microseconds);
}

/* Text that grows by whole calls; a call that does not fit leaves no trace. */
struct text {
    char *bytes;
    size_t size, used;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void metrics_say(struct text *text, const char *format,
                                                              ...)
{
    if (text->full)
        return;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->bytes + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= text->size - text->used)
        text->full = true;
    else
        text->used += (size_t)n;
}

static void metrics_say_statuses(struct text *text, struct route_counters *row, const char *pattern)
{
    for (size_t s = 0; s <= STATUS_COUNT; s++) {
        uint64_t count = atomic_load_explicit(&row->statuses[s], memory_order_relaxed);
        if (count == 0)
            continue;
        char status[8] = "other";
        if (s < STATUS_COUNT)
            snprintf(status, sizeof status, "%d", STATUSES[s]);
        metrics_say(text, "tacet_requests_total{route=\"%s\",status=\"%s\"} %" PRIu64 "\n", pattern,
                    status, count);
    }
}

static void metrics_say_durations(struct text *text, struct route_counters *row,
                                  const char *pattern)
{
    uint64_t sum = 0;
    for (size_t b = 0; b < BUCKET_COUNT; b++)
        sum += atomic_load_explicit(&row->buckets[b], memory_order_relaxed);
    if (sum == 0)
        return; /* not timed */
    sum = 0;
    for (size_t b = 0; b < BUCKET_COUNT; b++) {
        sum += atomic_load_explicit(&row->buckets[b], memory_order_relaxed);
        if (b < BUCKET_COUNT - 1)
            metrics_say(text, "tacet_request_seconds_bucket{route=\"%s\",le=\"%g\"} %" PRIu64 "\n",
                        pattern, (double)BUCKETS[b] / 1e6, sum);
        else
            metrics_say(text,
                        "tacet_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %" PRIu64 "\n",
                        pattern, sum);
    }
    uint64_t microseconds = atomic_load_explicit(&row->microseconds, memory_order_relaxed);
    metrics_say(text, "tacet_request_seconds_sum{route=\"%s\"} %.6f\n", pattern,
                (double)microseconds / 1e6);
    metrics_say(text, "tacet_request_seconds_count{route=\"%s\"} %" PRIu64 "\n", pattern, sum);
}

size_t metrics_write(void *context, char *buffer, size_t size)
{
    struct metrics *metrics = context;
    struct text text = {.bytes = buffer, .size = size};
    if (size == 0)
        return 0;
    for (int v = 0; v < METRICS_VALUE_COUNT; v++)
        metrics_say(&text, "# HELP tacet_%s %s\n# TYPE tacet_%s %s\ntacet_%s %" PRId64 "\n",
                    VALUES[v].name, VALUES[v].help, VALUES[v].name, VALUES[v].type, VALUES[v].name,
                    metrics_get(metrics, (enum metrics_value)v));
    for (int pass = 0; pass < 2; pass++) {
        metrics_say(&text, pass == 0 ? "# TYPE tacet_requests_total counter\n"
                                     : "# TYPE tacet_request_seconds histogram\n");
        for (size_t i = 0; i < ROUTES_MAX; i++) {
            struct route_counters *row = &metrics->routes[i];
            const char *pattern = atomic_load_explicit(&row->pattern, memory_order_acquire);
            if (pattern && pass == 0)
                metrics_say_statuses(&text, row, pattern);
            else if (pattern)
                metrics_say_durations(&text, row, pattern);
        }
    }
    buffer[text.used] = '\0';
    return text.used;
}
