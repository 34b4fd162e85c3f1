/* A progress bar on standard error, for people: silent unless that is a terminal. */
#ifndef TACET_CLI_PROGRESS_H
#define TACET_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool visible;
    const char *what;       /* "experts" */
    uint64_t total, before; /* BEFORE of the total were done by an earlier run */
    int64_t started_us;     /* of the monotonic clock */
};

/* Begins a progress bar. WHAT is borrowed. BEFORE of the TOTAL are done already. */
void progress_begin(struct progress *progress, const char *what, uint64_t total, uint64_t before);

/* Shows DONE of TOTAL: bar, percentage, and time left at this run's mean rate so far. */
void progress_show(const struct progress *progress, uint64_t done);

/* Removes the bar so that a line can be written; the next progress_show draws it again. */
void progress_clear(const struct progress *progress);

/* Writes a duration for people: "42 s", "3 min 05 s", "1 h 20 min". */
void progress_time(double seconds, char out[32]);

/* Replaces the bar by one line about what was done. Without COMPLETE it only clears the bar, so
 * that an error message stands alone. */
void progress_end(const struct progress *progress, bool complete);

#endif
