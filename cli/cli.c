/* What subcommands share. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "memory/buffer.h"

#define LINE_BYTES 1200

int cli_complain(const struct flags *flags, int status, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c != '\0'; c++)
        *c = iscntrl((unsigned char)*c) ? '?' : *c;
    fprintf(stderr, "%s: %s\n", flags->program, line);
    return status;
}

int cli_read_flags(const struct flags *flags, int argc, char **argv, void *options,
                   struct flags_found *found)
{
    if (!flags_read(flags, argc, argv, options, found))
        return cli_complain(flags, CLI_USAGE, "%s", found->error);
    if (!found->help)
        return CLI_GO_ON;
    flags_help(flags, stdout);
    return fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}

/* True when reading FILE failed or gave too many BYTES; ERROR then says what is wrong. */
static bool file_fault(FILE *file, const struct buffer *bytes, const char *name, char *error)
{
    if (ferror(file))
        snprintf(error, CLI_ERROR_SIZE, "%.400s: cannot be read: %s", name, strerror(errno));
    else if (bytes->failed)
        snprintf(error, CLI_ERROR_SIZE,
                 "%.400s: larger than %zu KiB, so it is not what is asked for", name,
                 bytes->lid >> 10);
    return ferror(file) || bytes->failed;
}

char *cli_read_file(const char *name, size_t most, size_t *out_size, char error[CLI_ERROR_SIZE])
{
    bool standard = strcmp(name, "-") == 0;
    FILE *file = standard ? stdin : fopen(name, "rb");
    struct buffer bytes = {.lid = most};
    char piece[4096];
    size_t got = 0;
    if (!file) {
        snprintf(error, CLI_ERROR_SIZE, "%.400s: cannot be read: %s", name, strerror(errno));
        return NULL;
    }
    while ((got = fread(piece, 1, sizeof piece, file)) > 0 && buffer_add(&bytes, piece, got))
        continue;
    bool faulty = file_fault(file, &bytes, name, error);
    if (!standard)
        fclose(file);
    if (!faulty)
        return buffer_take(&bytes, out_size);
    buffer_clear(&bytes);
    return NULL;
}
