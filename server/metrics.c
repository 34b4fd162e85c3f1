/* Lock-free counters. A route's row is found by the address of its pattern, which is static text:
 * rows are claimed once and never move. One thread counts requests, others read what it counted. */
#include "server/metrics.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/os/data_dir.h"

#define ROUTES_MAX   128
#define PROBLEMS_MAX 96
#define MEMORY_STEP  ((uint64_t)64 << 20)
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

struct problem_counter {
    _Atomic(const char *) slug;
    atomic_uint_fast64_t count;
};

struct metrics {
    atomic_int_fast64_t values[METRICS_VALUE_COUNT];
    struct route_counters routes[ROUTES_MAX];
    struct route_counters commits;
    struct problem_counter problems[PROBLEMS_MAX];
    const char *version, *directory; /* NULL: not told */
    bool backs_up;                   /* tacet backup copies the directory */
    int64_t began_s;
    atomic_int_fast64_t certificate_end_s; /* 0: not told */
    int statm;                             /* of this process, in /proc */
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

void metrics_about(struct metrics *metrics, const char *version, const char *directory,
                   bool backs_up)
{
    metrics->backs_up = backs_up;
    metrics->version = version;
    metrics->directory = directory;
    metrics->began_s = (int64_t)time(NULL);
    metrics->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

void metrics_note_certificate(struct metrics *metrics, int64_t end_s)
{
    atomic_store(&metrics->certificate_end_s, end_s);
}

void metrics_free(struct metrics *metrics)
{
    if (metrics && metrics->directory && metrics->statm >= 0)
        close(metrics->statm);
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

static void count_duration(struct route_counters *row, uint64_t microseconds)
{
    size_t b = 0;
    while (b < BUCKET_COUNT - 1 && microseconds > BUCKETS[b])
        b++;
    raise_by(&row->buckets[b], 1);
    raise_by(&row->microseconds, microseconds);
}

void metrics_commit(struct metrics *metrics, uint64_t microseconds)
{
    count_duration(&metrics->commits, microseconds);
}

void metrics_problem(struct metrics *metrics, const char *slug)
{
    for (size_t i = 0; i < PROBLEMS_MAX; i++) {
        struct problem_counter *row = &metrics->problems[i];
        const char *there = atomic_load_explicit(&row->slug, memory_order_acquire);
        if (!there)
            atomic_store_explicit(&row->slug, slug, memory_order_release);
        if (there && there != slug)
            continue;
        raise_by(&row->count, 1);
        return;
    }
}

void metrics_request(struct metrics *metrics, const char *pattern, int status,
                     uint64_t microseconds)
{
    struct route_counters *row = row_of(metrics, pattern ? pattern : "none");
    if (!row)
        return;
    size_t s = 0;
    while (s < STATUS_COUNT && STATUSES[s] != status)
        s++;
    raise_by(&row->statuses[s], 1);
    if (microseconds != METRICS_UNTIMED)
        count_duration(row, microseconds);
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

/* NAME and LABEL ("route=\"/v1/x\"," or "") of a histogram. */
static void metrics_say_durations(struct text *text, struct route_counters *row, const char *name,
                                  const char *label)
{
    uint64_t sum = 0;
    int bare = (int)strlen(label) - (label[0] != '\0'); /* without the comma */
    const char *open = bare > 0 ? "{" : "", *end = bare > 0 ? "}" : "";
    for (size_t b = 0; b < BUCKET_COUNT; b++) {
        sum += atomic_load_explicit(&row->buckets[b], memory_order_relaxed);
        if (b < BUCKET_COUNT - 1)
            metrics_say(text, "%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, label,
                        (double)BUCKETS[b] / 1e6, sum);
        else
            metrics_say(text, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, label, sum);
    }
    uint64_t microseconds = atomic_load_explicit(&row->microseconds, memory_order_relaxed);
    metrics_say(text, "%s_sum%s%.*s%s %.6f\n", name, open, bare, label, end,
                (double)microseconds / 1e6);
    metrics_say(text, "%s_count%s%.*s%s %" PRIu64 "\n", name, open, bare, label, end, sum);
}

static bool was_timed(struct route_counters *row)
{
    uint64_t sum = 0;
    for (size_t b = 0; b < BUCKET_COUNT; b++)
        sum += atomic_load_explicit(&row->buckets[b], memory_order_relaxed);
    return sum > 0;
}

static void metrics_say_routes(struct text *text, struct metrics *metrics)
{
    metrics_say(text, "# HELP tacet_requests_total Answers by route and status.\n"
                      "# TYPE tacet_requests_total counter\n");
    for (size_t i = 0; i < ROUTES_MAX; i++) {
        struct route_counters *row = &metrics->routes[i];
        const char *pattern = atomic_load_explicit(&row->pattern, memory_order_acquire);
        if (pattern)
            metrics_say_statuses(text, row, pattern);
    }
    metrics_say(text,
                "# HELP tacet_request_seconds Time from the head of a request to its answer.\n"
                "# TYPE tacet_request_seconds histogram\n");
    for (size_t i = 0; i < ROUTES_MAX; i++) {
        struct route_counters *row = &metrics->routes[i];
        const char *pattern = atomic_load_explicit(&row->pattern, memory_order_acquire);
        char label[120];
        snprintf(label, sizeof label, "route=\"%s\",", pattern ? pattern : "");
        if (pattern && was_timed(row))
            metrics_say_durations(text, row, "tacet_request_seconds", label);
    }
}

static void metrics_say_problems(struct text *text, struct metrics *metrics)
{
    metrics_say(text, "# HELP tacet_problems_total Refusals and failures by kind.\n"
                      "# TYPE tacet_problems_total counter\n");
    for (size_t i = 0; i < PROBLEMS_MAX; i++) {
        struct problem_counter *row = &metrics->problems[i];
        const char *slug = atomic_load_explicit(&row->slug, memory_order_acquire);
        if (slug)
            metrics_say(text, "tacet_problems_total{problem=\"%s\"} %" PRIu64 "\n", slug,
                        atomic_load_explicit(&row->count, memory_order_relaxed));
    }
}

/* Resident bytes, rounded up to MEMORY_STEP; 0: not known. */
static uint64_t memory_now(int statm)
{
    char line[128];
    unsigned long long all = 0, resident = 0;
    ssize_t n = statm >= 0 ? pread(statm, line, sizeof line - 1, 0) : -1;
    line[n > 0 ? n : 0] = '\0';
    if (sscanf(line, "%llu %llu", &all, &resident) != 2)
        return 0;
    uint64_t bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + MEMORY_STEP - 1) / MEMORY_STEP * MEMORY_STEP;
}

/* A time in seconds since 1970. */
static void metrics_say_time(struct text *text, const char *name, const char *help, int64_t time_s)
{
    metrics_say(text, "# HELP tacet_%s %s\n# TYPE tacet_%s gauge\ntacet_%s %" PRId64 "\n", name,
                help, name, name, time_s);
}

static void metrics_say_process(struct text *text, struct metrics *metrics)
{
    struct statvfs disk;
    if (!metrics->directory)
        return;
    metrics_say(text,
                "# HELP tacet_build_info The version, as a label.\n"
                "# TYPE tacet_build_info gauge\ntacet_build_info{version=\"%s\"} 1\n"
                "# HELP process_start_time_seconds When the process began, since 1970.\n"
                "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %" PRId64 "\n"
                "# HELP process_resident_memory_bytes Rounded up to 64 MiB.\n"
                "# TYPE process_resident_memory_bytes gauge\n"
                "process_resident_memory_bytes %" PRIu64 "\n",
                metrics->version, metrics->began_s, memory_now(metrics->statm));
    int64_t end_s = atomic_load(&metrics->certificate_end_s);
    if (end_s > 0)
        metrics_say_time(text, "tls_certificate_end_timestamp_seconds",
                         "When the service's certificate ends, since 1970.", end_s);
    if (metrics->backs_up)
        metrics_say_time(text, "last_backup_timestamp_seconds",
                         "When tacet backup last made a backup, since 1970; 0: never.",
                         data_dir_backup_s(metrics->directory));
    if (statvfs(metrics->directory, &disk) == 0 && disk.f_blocks > 0)
        metrics_say(text,
                    "# HELP tacet_disk_free_ratio Free part of the disk of the data directory, in "
                    "hundredths.\n"
                    "# TYPE tacet_disk_free_ratio gauge\ntacet_disk_free_ratio %.2f\n",
                    floor((double)disk.f_bavail / (double)disk.f_blocks * 100) / 100);
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
    metrics_say_process(&text, metrics);
    metrics_say(&text, "# HELP tacet_commit_seconds Time that a batch waited for the disk.\n"
                       "# TYPE tacet_commit_seconds histogram\n");
    metrics_say_durations(&text, &metrics->commits, "tacet_commit_seconds", "");
    metrics_say_problems(&text, metrics);
    metrics_say_routes(&text, metrics);
    buffer[text.used] = '\0';
    return text.used;
}
