/* The number stands in two lines of fixed length, so that it is overwritten in place. When the
 * power goes within that, at most one of the lines has digits of both the old and the new number,
 * and so the lower number is never more than what was written. */
#include "storage/db/sqlite_head.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LINE_BYTES 20 /* 19 digits and a newline */

static int head_open(sqlite3 *handle, int flags)
{
    char path[PATH_BYTES];
    const char *name = sqlite3_db_filename(handle, "main");
    const char *slash = name ? strrchr(name, '/') : NULL;
    if (!slash)
        return -1;
    int n = snprintf(path, sizeof path, "%.*s/ledger.head", (int)(slash - name), name);
    if (n < 0 || (size_t)n >= sizeof path)
        return -1;
    return open(path, flags | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

/* The number in LINE; 0: it is no such line. */
static int64_t head_number(const char line[LINE_BYTES])
{
    char digits[LINE_BYTES];
    memcpy(digits, line, LINE_BYTES - 1);
    digits[LINE_BYTES - 1] = '\0';
    bool whole = strspn(digits, "0123456789") == LINE_BYTES - 1 && line[LINE_BYTES - 1] == '\n';
    return whole ? strtoll(digits, NULL, 10) : 0;
}

int64_t sqlite_head_read(sqlite3 *handle)
{
    char lines[2 * LINE_BYTES];
    int file = head_open(handle, O_RDONLY);
    if (file < 0)
        return 0;
    ssize_t n = read(file, lines, sizeof lines);
    close(file);
    if (n != LINE_BYTES && n != 2 * LINE_BYTES)
        return 0;
    int64_t first = head_number(lines);
    int64_t second = n == LINE_BYTES ? first : head_number(lines + LINE_BYTES); /* once: one line */
    return first < second ? first : second;
}

void sqlite_head_write(sqlite3 *handle, int *file, int64_t count)
{
    char lines[2 * LINE_BYTES + 1];
    if (*file < 0)
        *file = head_open(handle, O_WRONLY | O_CREAT);
    if (*file < 0)
        return;
    snprintf(lines, sizeof lines, "%019lld\n%019lld\n", (long long)count, (long long)count);
    ssize_t written = pwrite(*file, lines, 2 * LINE_BYTES, 0);
    (void)written;
}
