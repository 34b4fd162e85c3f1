/* Counters in Prometheus's text form: how often which route answered how, how long it took, how
 * full the queues are. Paths appear only as their patterns. Routes that take longer the more data
 * were uploaded are not timed. All functions may be called by any thread at any time,
 * metrics_request always by the same one; none of them locks. */
#ifndef TACET_SERVER_METRICS_H
#define TACET_SERVER_METRICS_H

#include <stdbool.h>
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

/* From now on the text also tells the version, when the process began, its memory, when `tacet
 * backup` last backed up DIRECTORY (borrowed), and how full its disk is. Sizes are coarse, so that
 * they do not tell how much was uploaded. To be called once, before the process confines itself. */
void metrics_about(struct metrics *metrics, const char *version, const char *directory,
                   bool backs_up);

/* From now on the text says that the service's certificate ends at END_S, in seconds since 1970; 0:
 * not known. */
void metrics_note_certificate(struct metrics *metrics, int64_t end_s);

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

/* Counts an answer that tells the problem SLUG, static text. */
void metrics_problem(struct metrics *metrics, const char *slug);

/* Counts a commit of a batch. One thread. */
void metrics_commit(struct metrics *metrics, uint64_t microseconds);

/* Writes the text and returns its length; lines that do not fit are left out. The signature is that
 * of api_settings.metrics, with METRICS as the context. */
size_t metrics_write(void *metrics, char *buffer, size_t size);

#endif
