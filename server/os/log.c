/* The log. A line is built on the stack and written with one call: no lock, no allocation, nothing
 * that can fail while something else is failing. */
#include "server/os/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1024

const char *const log_level_names[] = {"error", "warn", "info", "debug", NULL};
static atomic_int log_level_now = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    atomic_store(&log_level_now, (int)level);
}

static size_t line_head(char *line, size_t size, enum log_level level, const char *event)
{
    struct timespec now;
    struct tm utc;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    int n = snprintf(line, size, "time=%s.%03ldZ level=%s event=%s ", stamp, now.tv_nsec / 1000000,
                     log_level_names[level], event);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
    if ((int)level > atomic_load_explicit(&log_level_now, memory_order_relaxed))
        return;
    int kept_errno = errno;
    char line[LINE_BYTES];
    size_t used = line_head(line, sizeof line, level, event);
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line + used, sizeof line - used, format, arguments);
    va_end(arguments);
    if (n > 0)
        used += (size_t)n < sizeof line - used ? (size_t)n : sizeof line - used - 1;
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = ' ';
    line[used++] = '\n';
    /* A log that cannot be written must not stop the service. */
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
    errno = kept_errno;
}
