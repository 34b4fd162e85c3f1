/* Cuts the text of the file in place. */
#include "server/os/flag_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory/memory.h"
#include "memory/wipe.h"

#define FILE_BYTES ((size_t)256 * 1024)

/* Read in one piece, so that no copy of a secret stays in a buffer. */
const char *flag_file_take(FILE *file, struct flag_file *out)
{
    char *text = memory_new(FILE_BYTES + 2, 1);
    const char *why = NULL;
    *out = (struct flag_file){0};
    struct stat status = {.st_mode = 0};
    setvbuf(file, NULL, _IONBF, 0);
    out->exposed = fstat(fileno(file), &status) == 0 && (status.st_mode & (S_IROTH | S_IWOTH));
    size_t size = fread(text, 1, FILE_BYTES + 1, file);
    if (ferror(file))
        why = strerror(errno);
    else if (size > FILE_BYTES)
        why = "it is larger than 256 KiB";
    else if (strlen(text) != size)
        why = "it holds a NUL";
    fclose(file);
    if (why)
        wipe_free(text);
    else
        out->text = out->next = text;
    return why;
}

const char *flag_file_open(const char *path, const char *text, struct flag_file *out)
{
    FILE *file = text ? NULL : fopen(path, "r");
    *out = (struct flag_file){0};
    if (text)
        out->text = out->next = memory_copy_text(text);
    else if (!file)
        return strerror(errno);
    return text ? NULL : flag_file_take(file, out);
}

/* TEXT without blanks at both ends. */
static char *trim_blanks(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size > 0 && strchr(" \t\r", text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

bool flag_file_next(struct flag_file *file)
{
    while (*file->next != '\0') {
        char *line = file->next, *end = strchrnul(line, '\n');
        file->next = *end == '\0' ? end : end + 1;
        *end = '\0';
        file->line++;
        line = trim_blanks(line);
        if (line[0] == '\0' || line[0] == '#')
            continue;
        char *equals = strchr(line, '=');
        if (equals)
            *equals = '\0';
        file->name = trim_blanks(line);
        file->value = equals ? trim_blanks(equals + 1) : NULL;
        return true;
    }
    return false;
}
