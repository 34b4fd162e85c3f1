/* A progress bar on standard error. */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "server/os/clock.h"

enum { BAR_WIDTH = 30 };

void progress_begin(struct progress *progress, const char *what, uint64_t total, uint64_t before)
{
    *progress = (struct progress){
        .visible = isatty(STDERR_FILENO) == 1,
        .what = what,
        .total = total,
        .before = before,
        .started_us = clock_now_us(),
    };
    progress_show(progress, before);
}

void progress_show(const struct progress *progress, uint64_t done)
{
    if (!progress->visible || progress->total == 0)
        return;
    double fraction = (double)done / (double)progress->total;
    double elapsed = 1e-6 * (double)(clock_now_us() - progress->started_us);
    char bar[BAR_WIDTH + 1];
    int full = (int)(fraction * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %" PRIu64 " of %" PRIu64 " %s", bar, 100.0 * fraction, done,
            progress->total, progress->what);
    if (done > progress->before) {
        char left[32];
        progress_time(
            elapsed * (double)(progress->total - done) / (double)(done - progress->before), left);
        fprintf(stderr, ", %s left", left);
    }
    fputs("\033[K", stderr); /* clears the rest of a longer line before */
}

void progress_clear(const struct progress *progress)
{
    if (progress->visible)
        fputs("\r\033[K", stderr);
}

void progress_time(double seconds, char out[32])
{
    unsigned long s = seconds > 0 ? (unsigned long)(seconds + 0.5) : 0;
    if (s < 60)
        snprintf(out, 32, "%lu s", s);
    else if (s < 3600)
        snprintf(out, 32, "%lu min %02lu s", s / 60, s % 60);
    else
        snprintf(out, 32, "%lu h %02lu min", s / 3600, s / 60 % 60);
}

void progress_end(const struct progress *progress, bool complete)
{
    if (!progress->visible)
        return;
    progress_clear(progress);
    if (complete)
        fprintf(stderr, "%" PRIu64 " %s in %.1f s\n", progress->total - progress->before,
                progress->what, 1e-6 * (double)(clock_now_us() - progress->started_us));
}
