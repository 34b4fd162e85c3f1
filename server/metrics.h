/* Counters in Prometheus's text form: how often which route answered how, how long it took, how
 * full the queues are. Paths appear only as their patterns. Routes that take longer the more data
 * were uploaded are not timed. All functions may be called by any thread at any time,
 * metrics_request always by the same one; none of them locks. */
#ifndef TACET_SERVER_METRICS_H
#define TACET_SERVER_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct metrics;

enum metrics_value { /* a new one is a name here and a row in metrics.c */
                     METRICS_REQUESTS_IN_FLIGHT,
                     METRICS_EVENT_STREAMS,
                     METRICS_UPLOADS,
                     METRICS_JOBS_RUNNING,
                     METRICS_JOB_TURNS,
                     METRICS_BATCHES,
                     METRICS_BATCHED_REQUESTS,
                     METRICS_BATCH_RETRIES,
                     METRICS_BATCH_FAILURES,
                     METRICS_OVERLOADED,
                     METRICS_VALUE_COUNT,
};

/* All counters at 0. */
struct metrics *metrics_new(void);

/* NULL is fine. */
void metrics_free(struct metrics *metrics);

/* Adds AMOUNT, which may be negative. */
void metrics_add(struct metrics *metrics, enum metrics_value value, int64_t amount);

/* The present value. */
int64_t metrics_get(const struct metrics *metrics, enum metrics_value value);

#define METRICS_UNTIMED UINT64_MAX

/* Counts one answered request. PATTERN is static text of the route table, NULL when no route
 * matched. With METRICS_UNTIMED for MICROSECONDS it is counted, but in no duration. */
void metrics_request(struct metrics *metrics, const char *pattern, int status,
                     uint64_t microseconds);

/* Writes the text and returns its length; lines that do not fit are left out. The signature is that
 * of api_settings.metrics, with METRICS as the context. */
size_t metrics_write(void *metrics, char *buffer, size_t size);

#endif
