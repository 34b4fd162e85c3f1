/* One line of fixed length, so that it is overwritten in place. */
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

int64_t sqlite_head_read(sqlite3 *handle)
{
    char line[LINE_BYTES + 1] = "";
    int file = head_open(handle, O_RDONLY);
    if (file < 0)
        return 0;
    ssize_t n = read(file, line, LINE_BYTES);
    close(file);
    return n == LINE_BYTES && line[LINE_BYTES - 1] == '\n' ? strtoll(line, NULL, 10) : 0;
}

void sqlite_head_write(sqlite3 *handle, int *file, int64_t count)
{
    char line[LINE_BYTES + 1];
    if (*file < 0)
        *file = head_open(handle, O_WRONLY | O_CREAT);
    if (*file < 0)
        return;
    snprintf(line, sizeof line, "%019lld\n", (long long)count);
    ssize_t written = pwrite(*file, line, LINE_BYTES, 0);
    (void)written;
}
