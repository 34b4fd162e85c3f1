/* Appending and reading lines. */
#include "bench/plot/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool put(int file, const char *text)
{
    size_t size = strlen(text);
    return write(file, text, size) == (ssize_t)size;
}

static bool write_line(int file, const char *head, const char *line)
{
    off_t end = lseek(file, 0, SEEK_END);
    char last = '\n';
    if (end > 0 && pread(file, &last, 1, end - 1) != 1)
        return false;
    if (end == 0 && !put(file, head))
        return false;
    if (last != '\n' && !put(file, " (cut)\n"))
        return false;
    return put(file, line) && fsync(file) == 0;
}

bool lines_append(const char *path, const char *head, const char *line)
{
    int file = open(path, O_RDWR | O_APPEND | O_CREAT, 0644);
    if (file < 0)
        return false;
    bool good = write_line(file, head, line);
    return close(file) == 0 && good;
}

bool lines_each(const char *path, bool (*each)(void *context, const char *line), void *context,
                unsigned *out_number)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    bool good = true;
    *out_number = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return access(path, F_OK) != 0;
    for (unsigned number = 1; good && (size = getline(&line, &room, file)) > 0; number++) {
        bool whole = line[size - 1] == '\n';
        line[size - whole] = '\0';
        if (!whole || line[0] == '#' || (size > 6 && strstr(line, " (cut)")))
            continue;
        good = each(context, line);
        *out_number = good ? 0 : number;
    }
    good = good && !ferror(file);
    free(line);
    fclose(file);
    return good;
}
