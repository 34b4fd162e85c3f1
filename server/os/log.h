/* One line per event to standard error, in logfmt: time, level, event, then what the caller adds.
 * Never a body, a query string, a token or an observation: callers pass public facts only. */
#ifndef TACET_SERVER_OS_LOG_H
#define TACET_SERVER_OS_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The log level of the process. It is INFO until it is set. */
void log_set_level(enum log_level level);

/* "error", "warn", "info", "debug", NULL: the names of the levels in order. */
extern const char *const log_level_names[];

/* Writes `time=... level=... event=EVENT <formatted>` in one write, so that lines of several
 * threads do not mix. A line longer than about 1000 bytes is cut. Control characters become spaces.
 * Quote values that may hold blanks: "why=\"%s\"". Keeps errno. */
void log_event(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
