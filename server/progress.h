/* A progress bar on standard error, for people: silent unless that is a terminal. */
#ifndef TACET_SERVER_PROGRESS_H
#define TACET_SERVER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool visible;
    const char *what; /* "experts" */
    uint64_t total;
    double started; /* seconds of the monotonic clock */
};

/* WHAT is borrowed. */
void progress_begin(struct progress *progress, const char *what, uint64_t total);

/* DONE of TOTAL: bar, percentage, time left at the mean rate so far. */
void progress_show(const struct progress *progress, uint64_t done);

/* Replaces the bar by one line of what was done; without COMPLETE it only clears the bar, so that
 * an error message stands alone. */
void progress_end(const struct progress *progress, bool complete);

#endif
