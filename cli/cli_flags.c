/* Reading flags by a table. */
#include "cli/cli_flags.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define ID_LENGTH     40

int cli_complain(const struct cli_flags *flags, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", flags->program);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

void cli_flags_help(const struct cli_flags *flags)
{
    for (size_t i = 0; i < flags->count; i++) {
        const struct cli_flag *flag = &flags->table[i];
        char head[40];
        const char *line = flag->meaning;
        snprintf(head, sizeof head, "--%s %s", flag->name, flag->value);
        for (const char *end; (end = strchr(line, '\n')); line = end + 1, head[0] = '\0')
            printf("  %-24s %.*s\n", head, (int)(end - line), line);
        printf("  %-24s %s\n", head, line);
    }
    puts("  --help                   this text");
}

static int read_count(const struct cli_flags *flags, const struct cli_flag *flag, const char *text,
                      uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long x = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || x < flag->least ||
        x > flag->most)
        return cli_complain(flags, CLI_USAGE,
                            "--%s: \"%s\" is not an integer from %" PRIu64 " to %" PRIu64,
                            flag->name, text, flag->least, flag->most);
    *out = x;
    return 0;
}

static int read_number(const struct cli_flags *flags, const struct cli_flag *flag, const char *text,
                       double *out)
{
    char *end = NULL;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !(x >= flag->low && x <= flag->high))
        return cli_complain(flags, CLI_USAGE, "--%s: \"%s\" is not a number from %g to %g",
                            flag->name, text, flag->low, flag->high);
    *out = x;
    return 0;
}

static int read_value(const struct cli_flags *flags, const struct cli_flag *flag, const char *text,
                      void *place)
{
    struct cli_texts *texts = place;
    switch (flag->kind) {
    case CLI_COUNT:
        return read_count(flags, flag, text, place);
    case CLI_NUMBER:
        return read_number(flags, flag, text, place);
    case CLI_TEXTS:
        if (texts->count == CLI_TEXTS_MAX)
            return cli_complain(flags, CLI_USAGE, "--%s: at most %d of them", flag->name,
                                CLI_TEXTS_MAX);
        texts->text[texts->count++] = text;
        return 0;
    case CLI_ID:
        if (strlen(text) > ID_LENGTH || strspn(text, ID_CHARACTERS) != strlen(text))
            return cli_complain(flags, CLI_USAGE, "--%s: \"%s\" is no id", flag->name, text);
        break;
    case CLI_TEXT:
    case CLI_SWITCH:
        break;
    }
    *(const char **)place = text;
    return 0;
}

static const struct cli_flag *find(const struct cli_flags *flags, const char *argument)
{
    for (size_t i = 0; strncmp(argument, "--", 2) == 0 && i < flags->count; i++)
        if (strcmp(flags->table[i].name, argument + 2) == 0)
            return &flags->table[i];
    return NULL;
}

bool cli_value_follows(int argc, char **argv, int i)
{
    return i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0;
}

int cli_flags_read(const struct cli_flags *flags, int argc, char **argv, void *options,
                   bool *out_help)
{
    *out_help = false;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            *out_help = true;
            return 0;
        }
        const struct cli_flag *flag = find(flags, argv[i]);
        if (!flag)
            return cli_complain(flags, CLI_USAGE, "%s: no such flag; --help lists them", argv[i]);
        void *place = (char *)options + flag->offset;
        if (flag->kind == CLI_SWITCH) {
            *(bool *)place = true;
            continue;
        }
        if (!cli_value_follows(argc, argv, i))
            return cli_complain(flags, CLI_USAGE, "%s: its value is missing", argv[i]);
        int status = read_value(flags, flag, argv[++i], place);
        if (status != 0)
            return status;
    }
    return 0;
}
