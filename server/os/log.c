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

#define LINE_BYTES   1024
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

const char *const log_level_names[] = {"error", "warn", "info", NULL};
const char *const log_format_names[] = {"text", "json", NULL};
static atomic_int log_level_now = LOG_LEVEL_INFO;
static atomic_int log_format_now = LOG_FORMAT_TEXT;

void log_set_format(enum log_format format)
{
    atomic_store(&log_format_now, (int)format);
}

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

/* ---- as JSON */

/* The end of the value at VALUE, which begins with a quote: the quote before the next name, or
 * before the end. A value may hold quotes. */
static const char *quoted_end(const char *value)
{
    for (const char *at = value + 1; *at != '\0'; at++) {
        if (*at != '"')
            continue;
        size_t name = at[1] == ' ' ? strspn(at + 2, NAME_LETTERS) : 0;
        if (at[1 + strspn(at + 1, " ")] == '\0' || (name > 0 && at[2 + name] == '='))
            return at;
    }
    return value + strlen(value);
}

/* True for a JSON integer that a double keeps. */
static bool is_integer(const char *text, size_t size)
{
    bool negative = size > 0 && text[0] == '-';
    text += negative;
    size -= negative;
    return size > 0 && size < 16 && strspn(text, "0123456789") >= size &&
           (text[0] != '0' || size == 1);
}

static size_t add_string(char *out, const char *text, size_t size)
{
    size_t used = 0;
    out[used++] = '"';
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            out[used++] = '\\';
        out[used++] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    }
    out[used++] = '"';
    return used;
}

size_t log_json(const char *line, char out[LOG_JSON_SIZE])
{
    size_t used = 0;
    out[used++] = '{';
    while (*(line += strspn(line, " ")) != '\0') {
        size_t name = strcspn(line, "= ");
        if (name == 0 || line[name] != '=') { /* a word alone, where a line was cut */
            line += name + (line[name] == '=');
            continue;
        }
        const char *value = line + name + 1;
        bool quoted = *value == '"';
        const char *end = quoted ? quoted_end(value) : value + strcspn(value, " ");
        if (used > 1)
            out[used++] = ',';
        used += add_string(out + used, line, name);
        out[used++] = ':';
        size_t size = (size_t)(end - value) - quoted;
        if (!quoted && is_integer(value, size)) {
            memcpy(out + used, value, size);
            used += size;
        } else {
            used += add_string(out + used, value + quoted, size);
        }
        line = end + (*end == '"');
    }
    out[used++] = '}';
    out[used] = '\0';
    return used;
}

/* ---- a line */

/* A log that cannot be written must not stop the service. */
static void write_line(char *line, size_t used)
{
    line[used++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
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
    line[used] = '\0';
    char json[LOG_JSON_SIZE];
    if (atomic_load_explicit(&log_format_now, memory_order_relaxed) == LOG_FORMAT_JSON)
        write_line(json, log_json(line, json));
    else
        write_line(line, used);
    errno = kept_errno;
}
