/* A progress bar on standard error. */
#include "server/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
    *progress = (struct progress){
        .visible = isatty(STDERR_FILENO) == 1,
        .what = what,
        .total = total,
        .started = seconds_now(),
    };
    progress_show(progress, 0);
}

void progress_show(const struct progress *progress, uint64_t done)
{
    if (!progress->visible || progress->total == 0)
        return;
    double fraction = (double)done / (double)progress->total;
    double elapsed = seconds_now() - progress->started;
    char bar[BAR_WIDTH + 1];
    int full = (int)(fraction * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %" PRIu64 " of %" PRIu64 " %s", bar, 100.0 * fraction, done,
            progress->total, progress->what);
    if (done > 0)
        fprintf(stderr, ", %.0f s left", elapsed * (1.0 - fraction) / fraction);
    fputs("\033[K", stderr); /* clears the rest of a longer line before */
}

void progress_end(const struct progress *progress, bool complete)
{
    if (!progress->visible)
        return;
    fputs("\r\033[K", stderr);
    if (complete)
        fprintf(stderr, "%" PRIu64 " %s in %.1f s\n", progress->total, progress->what,
                seconds_now() - progress->started);
}
