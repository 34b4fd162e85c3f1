/* The help of a table of flags. */
#include <inttypes.h>
#include <string.h>

#include "server/flags.h"

#define HELP_INDENT 28
#define HELP_WIDTH  100

/* Prints HEAD and TEXT in two columns, TEXT broken between words. */
static void flags_print_columns(FILE *out, const char *head, const char *text)
{
    fprintf(out, "  %-*s", HELP_INDENT - 2, head);
    if (strlen(head) > HELP_INDENT - 3)
        fprintf(out, "\n%*s", HELP_INDENT, "");
    while (strlen(text) > HELP_WIDTH - HELP_INDENT) {
        int length = HELP_WIDTH - HELP_INDENT;
        while (length > 1 && text[length] != ' ')
            length--;
        fprintf(out, "%.*s\n%*s", length, text, HELP_INDENT, "");
        text += length + 1;
    }
    fprintf(out, "%s\n", text);
}

static void print_flag(const struct flag *flag, FILE *out)
{
    char head[FLAG_NAME_SIZE], text[400], name[FLAG_NAME_SIZE];
    snprintf(head, sizeof head, "--%s %s", flag->name, flag->value);
    snprintf(text, sizeof text, "%s", flag->meaning);
    if (flag->fallback && flag->fallback[0] != '\0')
        snprintf(text, sizeof text, "%s (default %s)", flag->meaning, flag->fallback);
    flags_print_columns(out, head, text);
    if (!(flag->traits & FLAG_ENVIRONMENT))
        return;
    flag_variable(flag, name);
    snprintf(text, sizeof text, "%s", name);
    if (flag->kind == FLAG_COUNT || flag->kind == FLAG_BYTES)
        snprintf(text, sizeof text, "%s, %" PRIu64 " to %" PRIu64, name, flag->range.least,
                 flag->range.most);
    flags_print_columns(out, "", text);
}

void flags_help(const struct flags *flags, FILE *out)
{
    fputs(flags->usage, out);
    if (flags->more)
        flags->more(out);
    for (size_t i = 0; i < flags->count; i++)
        print_flag(&flags->table[i], out);
    flags_print_columns(out, "--help", "this text");
    if (flags->notes)
        fprintf(out, "\n%s", flags->notes);
}
