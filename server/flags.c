/* Reads a command line by a table. */
#include "server/flags.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define ID_LENGTH     40
#define NAME_SIZE     64 /* of a flag or its variable */

struct flags_reading {
    const struct flags *flags;
    void *options;
    struct flags_found *found;
    char where[NAME_SIZE]; /* the flag as the user spelled it: "--workers" or "TACET_WORKERS" */
};

/* Sets the error: the flag as it was spelled, then the formatted text. */
__attribute__((format(printf, 2, 3))) static bool flags_refuse(struct flags_reading *reading,
                                                               const char *format, ...)
{
    char *error = reading->found->error;
    int size = sizeof reading->found->error;
    int used = snprintf(error, (size_t)size, "%s", reading->where);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error + used, (size_t)(size - used), format, arguments);
    va_end(arguments);
    for (; *error != '\0'; error++)
        *error = iscntrl((unsigned char)*error) ? '?' : *error;
    return false;
}

/* ---- values */

static bool read_suffix(const char *text, uint64_t *number)
{
    static const char suffixes[] = "KMG";
    const char *at = text[0] != '\0' && text[1] == '\0' ? strchr(suffixes, text[0]) : NULL;
    unsigned shift = at ? 10 * (unsigned)(at - suffixes + 1) : 0;
    if (!at || *number > UINT64_MAX >> shift)
        return false;
    *number <<= shift;
    return true;
}

static bool flag_read_count(struct flags_reading *reading, const struct flag *flag,
                            const char *text, uint64_t *out)
{
    bool bytes = flag->kind == FLAG_BYTES;
    uint64_t least = flag->range.least, most = flag->range.most, number = 0;
    char *end = NULL;
    bool good = isdigit((unsigned char)text[0]);
    if (good) {
        errno = 0;
        number = strtoull(text, &end, 10);
        good = errno == 0 && (*end == '\0' || (bytes && read_suffix(end, &number)));
    }
    if (!good || number < least || number > most)
        return flags_refuse(reading, ": \"%s\" is not an integer from %" PRIu64 " to %" PRIu64 "%s",
                            text, least, most, bytes ? " (K, M and G may follow)" : "");
    *out = number;
    return true;
}

static bool flag_refuse_number(struct flags_reading *reading, const struct flag *flag,
                               const char *text)
{
    const char *kind = flag->kind == FLAG_WHOLE ? "an integer" : "a number";
    const char *low = flag->traits & FLAG_ABOVE ? "above" : "of at least";
    const char *high = flag->traits & FLAG_BELOW ? "below" : "at most";
    if (flag->range.high >= FLAG_UNBOUNDED)
        return flags_refuse(reading, ": \"%s\" is not %s %s %g", text, kind, low, flag->range.low);
    return flags_refuse(reading, ": \"%s\" is not %s %s %g and %s %g", text, kind, low,
                        flag->range.low, high, flag->range.high);
}

static bool flag_read_number(struct flags_reading *reading, const struct flag *flag,
                             const char *text, double *out)
{
    char *end = NULL;
    /* strtod also accepts hexadecimal, "inf" and leading blanks, which are refused here. */
    bool good = text[0] != '\0' && strspn(text, "0123456789+-.eE") == strlen(text);
    double x = good ? strtod(text, &end) : 0.0;
    good = good && end != text && *end == '\0';
    good = good && (flag->traits & FLAG_ABOVE ? x > flag->range.low : x >= flag->range.low);
    good = good && (flag->traits & FLAG_BELOW ? x < flag->range.high : x <= flag->range.high);
    if (!good || (flag->kind == FLAG_WHOLE && x != floor(x)))
        return flag_refuse_number(reading, flag, text);
    *out = x;
    return true;
}

static bool flag_read_choice(struct flags_reading *reading, const struct flag *flag,
                             const char *text, int *out)
{
    const char *const *choices = flag->range.choices;
    char list[160] = "";
    size_t used = 0;
    for (int i = 0; choices[i]; i++) {
        const char *join = choices[i + 1] ? ", " : " or ";
        if (strcmp(text, choices[i]) == 0) {
            *out = i;
            return true;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? join : "",
                                 choices[i]);
    }
    return flags_refuse(reading, ": \"%s\" is not %s", text, list);
}

static bool flag_read_on_off(struct flags_reading *reading, const char *text, bool *out)
{
    static const char *const words[] = {"off", "on", "0", "1", "false", "true"};
    unsigned i = 0;
    while (i < 6 && strcmp(text, words[i]) != 0)
        i++;
    *out = i % 2 == 1;
    return i < 6 || flags_refuse(reading, ": \"%s\" is neither on nor off", text);
}

/* Copies a secret and overwrites TEXT with crosses, so that no list of processes shows it. */
static bool flag_read_secret(struct flags_reading *reading, char *text, char *out)
{
    bool fits = snprintf(out, FLAG_SECRET_SIZE, "%s", text) < FLAG_SECRET_SIZE;
    memset(text, 'x', strlen(text));
    return fits || flags_refuse(reading, ": too long for a token");
}

/* The first item on the command line replaces what the environment gave. */
static bool flag_read_item(struct flags_reading *reading, const struct flag *flag, const char *text,
                           struct flag_list *list)
{
    uint64_t bit = UINT64_C(1) << (flag - reading->flags->table);
    if (reading->where[0] == '-' && !(reading->found->given & bit))
        list->count = 0;
    if (text[0] == '\0')
        return true;
    if (list->count == flag->range.most)
        return flags_refuse(reading, ": more than %" PRIu64 " of them", flag->range.most);
    list->text[list->count++] = text;
    return true;
}

static bool flag_set(struct flags_reading *reading, const struct flag *flag, char *text)
{
    void *place = (char *)reading->options + flag->offset;
    switch (flag->kind) {
    case FLAG_COUNT:
    case FLAG_BYTES: return flag_read_count(reading, flag, text, place);
    case FLAG_NUMBER:
    case FLAG_WHOLE: return flag_read_number(reading, flag, text, place);
    case FLAG_CHOICE: return flag_read_choice(reading, flag, text, place);
    case FLAG_ON_OFF: return flag_read_on_off(reading, text, place);
    case FLAG_SECRET: return flag_read_secret(reading, text, place);
    case FLAG_LIST: return flag_read_item(reading, flag, text, place);
    case FLAG_SWITCH: return flags_refuse(reading, " takes no value");
    case FLAG_ID:
        if (strlen(text) > ID_LENGTH || strspn(text, ID_CHARACTERS) != strlen(text))
            return flags_refuse(reading, ": \"%s\" is no id", text);
        break;
    case FLAG_TEXT:
    case FLAG_BARE_TEXT:
        if (text[0] == '\0')
            return flags_refuse(reading, ": the value is empty");
        break;
    case FLAG_ANY_TEXT: break;
    }
    *(const char **)place = text;
    return true;
}

/* ---- names */

static void variable_name(const struct flag *flag, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "TACET_%s", flag->name);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* The Levenshtein distance between the first SIZE letters of an unknown flag A and the flag B
 * (Levenshtein 1966). */
static size_t edit_distance(const char *a, size_t size, const char *b)
{
    size_t row[NAME_SIZE], width = strlen(b);
    if (size >= NAME_SIZE || width >= NAME_SIZE)
        return NAME_SIZE;
    for (size_t k = 0; k <= width; k++)
        row[k] = k;
    for (size_t i = 1; i <= size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= width; k++) {
            size_t change = diagonal + (a[i - 1] != b[k - 1]);
            size_t step = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
            diagonal = row[k];
            row[k] = change < step ? change : step;
        }
    }
    return row[width];
}

/* The flag whose name is nearest to NAME or begins with it; NULL: none is near. */
static const struct flag *nearest_flag(const struct flags *flags, const char *name, size_t size)
{
    const struct flag *nearest = NULL;
    size_t least = 1 + size / 3;
    for (size_t i = 0; i < flags->count && size > 0; i++) {
        const struct flag *flag = &flags->table[i];
        bool begins = strncmp(flag->name, name, size) == 0;
        size_t distance = begins ? 1 : edit_distance(name, size, flag->name);
        if (distance > least || (distance == least && nearest))
            continue;
        least = distance;
        nearest = flag;
    }
    return nearest;
}

static const struct flag *find_flag(const struct flags *flags, const char *name, size_t size)
{
    const struct flag *flag = flags->table, *end = flag + flags->count;
    while (flag < end && (strlen(flag->name) != size || memcmp(flag->name, name, size) != 0))
        flag++;
    return flag < end ? flag : NULL;
}

static bool refuse_name(struct flags_reading *reading, const char *argument, size_t size)
{
    const struct flag *nearest = NULL;
    snprintf(reading->where, sizeof reading->where, "%.*s", (int)size, argument);
    if (argument[0] != '-')
        return flags_refuse(reading, ": flags begin with --; --help lists them");
    if (strncmp(argument, "--", 2) == 0)
        nearest = nearest_flag(reading->flags, argument + 2, size - 2);
    if (!nearest)
        return flags_refuse(reading, ": no such flag; --help lists them");
    return flags_refuse(reading, ": no such flag, did you mean --%s? --help lists them",
                        nearest->name);
}

/* ---- the command line */

static bool value_follows(const struct flag *flag, int argc, char **argv, int i)
{
    if (flag->kind == FLAG_SWITCH || i + 1 >= argc)
        return false;
    const char *next = argv[i + 1];
    return flag->kind == FLAG_BARE_TEXT ? next[0] != '-' : strncmp(next, "--", 2) != 0;
}

/* Sets a flag that has no value; false when it needs one. */
static bool set_alone(struct flags_reading *reading, const struct flag *flag)
{
    void *place = (char *)reading->options + flag->offset;
    if (flag->kind == FLAG_BARE_TEXT)
        *(const char **)place = "";
    else if (flag->kind == FLAG_SWITCH || flag->kind == FLAG_ON_OFF)
        *(bool *)place = true;
    else
        return flags_refuse(reading, ": a value must follow");
    return true;
}

/* Reads the flag at argv[*i], and its value in the next argument if it is there. */
static bool read_flag(struct flags_reading *reading, int argc, char **argv, int *i)
{
    char *argument = argv[*i], *equals = strchr(argument, '=');
    size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
    const struct flag *flag = NULL;
    if (strncmp(argument, "--", 2) == 0)
        flag = find_flag(reading->flags, argument + 2, size - 2);
    if (!flag)
        return refuse_name(reading, argument, size);
    snprintf(reading->where, sizeof reading->where, "--%s", flag->name);
    uint64_t bit = UINT64_C(1) << (flag - reading->flags->table);
    if (reading->flags->once && (reading->found->given & bit))
        return flags_refuse(reading, " is given twice");
    bool good;
    if (equals)
        good = flag_set(reading, flag, equals + 1);
    else if (value_follows(flag, argc, argv, *i))
        good = flag_set(reading, flag, argv[++*i]);
    else
        good = set_alone(reading, flag);
    reading->found->given |= bit;
    return good;
}

static bool set_fallbacks(struct flags_reading *reading)
{
    const struct flags *flags = reading->flags;
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->table[i];
        variable_name(flag, reading->where);
        char *value = flag->traits & FLAG_ENVIRONMENT ? getenv(reading->where) : NULL;
        if (flag->fallback && !flag_set(reading, flag, (char *)flag->fallback))
            return false;
        if (value && !flag_set(reading, flag, value))
            return false;
    }
    return true;
}

static bool check_required(struct flags_reading *reading)
{
    const struct flags *flags = reading->flags;
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->table[i];
        const void *place = (const char *)reading->options + flag->offset;
        snprintf(reading->where, sizeof reading->where, "--%s", flag->name);
        if ((flag->traits & FLAG_REQUIRED) && !*(const char *const *)place)
            return flags_refuse(reading, " is missing");
    }
    return true;
}

bool flags_read(const struct flags *flags, int argc, char **argv, void *options,
                struct flags_found *out)
{
    struct flags_reading reading = {flags, options, out, ""};
    *out = (struct flags_found){.help = false};
    if (!set_fallbacks(&reading))
        return false;
    for (int i = 0; i < argc; i++) {
        char *argument = argv[i];
        out->help = strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
        if (out->help)
            return true;
        bool is_flag = argument[0] == '-' && argument[1] != '\0';
        if (!is_flag && flags->takes_arguments)
            argv[out->arguments++] = argument;
        else if (!read_flag(&reading, argc, argv, &i))
            return false;
    }
    return check_required(&reading);
}

/* ---- help */

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
    char head[NAME_SIZE], text[400], name[NAME_SIZE];
    snprintf(head, sizeof head, "--%s %s", flag->name, flag->value);
    snprintf(text, sizeof text, "%s", flag->meaning);
    if (flag->fallback && flag->fallback[0] != '\0')
        snprintf(text, sizeof text, "%s (default %s)", flag->meaning, flag->fallback);
    flags_print_columns(out, head, text);
    if (!(flag->traits & FLAG_ENVIRONMENT))
        return;
    variable_name(flag, name);
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
