/* Finds a file's kind. */
#include "cli/import/import_source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC_MAX 8

static const char hdf5_magic[MAGIC_MAX] = "\x89HDF\r\n\x1a\n";

bool import_failed(struct import_source *source, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(source->error, sizeof source->error, format, arguments);
    va_end(arguments);
    return false;
}

/* Reads the first bytes of the file at PATH. Gives how many, or -1 with errno. */
static long read_magic(const char *path, char out[MAGIC_MAX])
{
    struct stat facts;
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    long got = -1;
    errno = 0;
    if (fstat(fileno(file), &facts) == 0 && !S_ISREG(facts.st_mode))
        errno = ESPIPE;
    else
        got = (long)fread(out, 1, MAGIC_MAX, file);
    if (ferror(file))
        got = -1;
    int why = errno;
    fclose(file);
    errno = why;
    return got;
}

bool import_is_hdf5(const char *path)
{
    char magic[MAGIC_MAX] = "";
    return read_magic(path, magic) == MAGIC_MAX && memcmp(magic, hdf5_magic, MAGIC_MAX) == 0;
}

static bool is_of_kind(const struct import_kind *kind, const char *magic, size_t size)
{
    return kind && (!kind->magic || (size >= kind->magic_size &&
                                     memcmp(magic, kind->magic, kind->magic_size) == 0));
}

bool import_source_open(struct import_source *source, const struct import_request *request,
                        const struct import_kind *more)
{
    const struct import_kind *const kinds[] = {more, &import_npz, &import_csv};
    char magic[MAGIC_MAX] = "";
    *source = (struct import_source){.request = *request, .ignored = ""};
    long got = read_magic(request->path, magic);
    if (got < 0 && errno == ESPIPE)
        return import_failed(source,
                             "%s is no file on a disk: it is read twice, once to check all of it "
                             "and once to send it",
                             request->path);
    if (got < 0)
        return import_failed(source, "cannot read %s: %s", request->path, strerror(errno));
    if (!more && got == MAGIC_MAX && memcmp(magic, hdf5_magic, MAGIC_MAX) == 0)
        return import_failed(source,
                             "%s is HDF5, which tacet-import-hdf5 reads: it is not beside this "
                             "program (make hdf5 builds it)",
                             request->path);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !source->kind; i++)
        if (is_of_kind(kinds[i], magic, (size_t)got))
            source->kind = kinds[i];
    return source->kind->open(source);
}

enum json_stream_status import_source_next(struct import_source *source, struct trajectory *out,
                                           const char **out_expert)
{
    return source->kind->next(source, out, out_expert);
}

void import_source_close(struct import_source *source)
{
    if (source->kind)
        source->kind->close(source);
    source->kind = NULL;
}
