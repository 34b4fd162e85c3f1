/* Cuts the text of the file in place. */
#include "server/os/flag_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/buffer.h"
#include "memory/memory.h"

#define FILE_BYTES ((size_t)256 * 1024)

const char *flag_file_take(FILE *file, struct flag_file *out)
{
    struct buffer bytes = {.lid = FILE_BYTES};
    char piece[4096];
    size_t got = 0;
    *out = (struct flag_file){0};
    while ((got = fread(piece, 1, sizeof piece, file)) > 0 && buffer_add(&bytes, piece, got))
        continue;
    const char *why = ferror(file) ? strerror(errno) : NULL;
    fclose(file);
    size_t size = 0;
    char *text = buffer_take(&bytes, &size);
    if (!why && !text)
        why = "it is larger than 256 KiB";
    if (!why && strlen(text) != size)
        why = "it holds a NUL";
    if (why) {
        free(text);
        return why;
    }
    out->text = out->next = text;
    return NULL;
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
