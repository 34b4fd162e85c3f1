/* One line per event to standard error, in logfmt or as a JSON object: time, level, event, then
 * what the caller adds. Never a body, a query string, a token or an observation: callers pass
 * public facts only. */
#ifndef TACET_SERVER_OS_LOG_H
#define TACET_SERVER_OS_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO };

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* The log's format of the process. It is TEXT until it is set. */
void log_set_format(enum log_format format);

/* "text", "json", NULL: the names of the formats in order. */
extern const char *const log_format_names[];

/* The log level of the process. It is INFO until it is set. */
void log_set_level(enum log_level level);

/* "error", "warn", "info", NULL: the names of the levels in order. */
extern const char *const log_level_names[];

#define LOG_JSON_SIZE 2600 /* of any line as JSON, its NUL included */

/* Writes LINE, pairs of logfmt without control characters and at most 1024 bytes, as a JSON object.
 * A value without quotes that is an integer becomes a number; bytes that are not ASCII become
 * question marks. Returns the length. */
size_t log_json(const char *line, char out[LOG_JSON_SIZE]);

/* Writes `time=... level=... event=EVENT <formatted>` in one write, so that lines of several
 * threads do not mix. A line longer than about 1000 bytes is cut. Control characters become spaces.
 * Quote values that may hold blanks: "why=\"%s\"". Keeps errno. */
void log_event(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
