/* Lines of measurements. */
#include "bench/tsv.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Behind what a killed run left of a line. */
#define CUT " (cut)\n"

bool tsv_load(const char *path, bool (*each)(void *context, const char *line), void *context,
              unsigned *line)
{
    char text[TSV_LINE_BYTES];
    *line = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return access(path, F_OK) != 0;
    bool good = true;
    for (unsigned number = 1; good && fgets(text, sizeof text, file); number++) {
        if (text[0] == '#' || !strchr(text, '\n') || strstr(text, CUT))
            continue;
        good = each(context, text);
        *line = good ? 0 : number;
    }
    fclose(file);
    return good;
}

/* A line that a killed run left without its end is ended first: it is no result, and stays none. */
static bool write_line(int file, const char *head, const char *line, size_t size)
{
    off_t end = lseek(file, 0, SEEK_END);
    char last = '\n';
    ssize_t head_size = (ssize_t)strlen(head);
    if (end > 0 && pread(file, &last, 1, end - 1) != 1)
        return false;
    if (end == 0 && write(file, head, (size_t)head_size) != head_size)
        return false;
    if (last != '\n' && write(file, CUT, sizeof CUT - 1) != (ssize_t)(sizeof CUT - 1))
        return false;
    return write(file, line, size) == (ssize_t)size && fsync(file) == 0;
}

bool tsv_append(const char *path, const char *head, const char *line, size_t size)
{
    int file = open(path, O_RDWR | O_APPEND | O_CREAT, 0644);
    if (file < 0)
        return false;
    bool good = write_line(file, head, line, size);
    return close(file) == 0 && good;
}
