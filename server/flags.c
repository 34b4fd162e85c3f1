/* Reads a command line by a table. */
#include "server/flags.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/wipe.h"
#include "server/os/flag_file.h"

#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define ID_LENGTH     40
#define WHERE_SIZE    320

/* The layers are read from the strongest to the weakest, and each sets the rows that are left. */
struct flags_reading {
    const struct flags *flags;
    void *options;
    struct flags_found *found;
    char where[WHERE_SIZE];     /* as the user spelled it: "--workers", "TACET_WORKERS" */
    bool above[FLAG_ROWS_MOST]; /* rows that an earlier layer has set */
    bool here[FLAG_ROWS_MOST];  /* rows that this layer has set */
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

static bool flag_read_item(struct flags_reading *reading, const struct flag *flag, const char *text,
                           struct flag_list *list)
{
    if (!reading->here[flag - reading->flags->table])
        list->count = 0;
    if (text[0] == '\0')
        return true;
    if (list->count == flag->range.most)
        return flags_refuse(reading, ": more than %" PRIu64 " of them", flag->range.most);
    list->text[list->count++] = text;
    return true;
}

static bool flag_read(struct flags_reading *reading, const struct flag *flag, char *text)
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

/* Sets a row from the present layer, unless an earlier one has set it. */
static bool flag_set(struct flags_reading *reading, const struct flag *flag, char *text)
{
    size_t row = (size_t)(flag - reading->flags->table);
    bool good = reading->above[row] || flag_read(reading, flag, text);
    reading->here[row] = true;
    return good;
}

static void end_layer(struct flags_reading *reading)
{
    for (size_t i = 0; i < FLAG_ROWS_MOST; i++) {
        reading->above[i] = reading->above[i] || reading->here[i];
        reading->here[i] = false;
    }
}

/* ---- the command line */

static bool refuse_name(struct flags_reading *reading, const char *argument, size_t size)
{
    const struct flag *nearest = NULL;
    snprintf(reading->where, sizeof reading->where, "%.*s", (int)size, argument);
    if (argument[0] != '-')
        return flags_refuse(reading, ": flags begin with --; --help lists them");
    if (strncmp(argument, "--", 2) == 0)
        nearest = flag_nearest(reading->flags, argument + 2, size - 2);
    if (!nearest)
        return flags_refuse(reading, ": no such flag; --help lists them");
    return flags_refuse(reading, ": no such flag, did you mean --%s? --help lists them",
                        nearest->name);
}

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
        flag = flag_find(reading->flags, argument + 2, size - 2);
    if (!flag)
        return refuse_name(reading, argument, size);
    snprintf(reading->where, sizeof reading->where, "--%s", flag->name);
    size_t row = (size_t)(flag - reading->flags->table);
    if (reading->flags->once && reading->here[row])
        return flags_refuse(reading, " is given twice");
    bool good;
    if (equals)
        good = flag_set(reading, flag, equals + 1);
    else if (value_follows(flag, argc, argv, *i))
        good = flag_set(reading, flag, argv[++*i]);
    else
        good = set_alone(reading, flag);
    reading->here[row] = true;
    reading->found->given |= row < 64 ? UINT64_C(1) << row : 0;
    return good;
}

static bool read_arguments(struct flags_reading *reading, int argc, char **argv)
{
    struct flags_found *found = reading->found;
    for (int i = 0; i < argc && !found->help; i++) {
        char *argument = argv[i];
        bool is_flag = argument[0] == '-' && argument[1] != '\0';
        found->help = strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
        if (!is_flag && reading->flags->takes_arguments)
            argv[found->arguments++] = argument;
        else if (!found->help && !read_flag(reading, argc, argv, &i))
            return false;
    }
    return true;
}

/* ---- the other layers */

static bool refuse_variable(struct flags_reading *reading, const char *variable)
{
    char name[FLAG_NAME_SIZE], meant[FLAG_NAME_SIZE];
    size_t size = strcspn(variable, "=");
    snprintf(reading->where, sizeof reading->where, "%.*s", size < 100 ? (int)size : 100, variable);
    flag_of_variable(variable, name);
    const struct flag *nearest = flag_nearest(reading->flags, name, strlen(name));
    if (!nearest || !(nearest->traits & FLAG_ENVIRONMENT))
        return flags_refuse(reading, ": no such setting; --help lists them");
    flag_variable(nearest, meant);
    return flags_refuse(reading, ": no such setting, did you mean %s? --help lists them", meant);
}

static bool read_environment(struct flags_reading *reading)
{
    const struct flags *flags = reading->flags;
    char *const *unknown = flags->others ? flag_unknown_variable(flags, environ) : NULL;
    if (unknown)
        return refuse_variable(reading, *unknown);
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->table[i];
        char name[FLAG_NAME_SIZE];
        flag_variable(flag, name);
        snprintf(reading->where, sizeof reading->where, "%s", name);
        char *value = flag->traits & FLAG_ENVIRONMENT ? getenv(name) : NULL;
        if (value && !flag_set(reading, flag, value))
            return false;
    }
    return true;
}

/* Whether a file may set FLAG, which may be NULL. */
static bool is_file_setting(const struct flag *flag)
{
    return flag && (flag->traits & FLAG_ENVIRONMENT) && !(flag->traits & FLAG_FILE);
}

/* How many bytes of the present line's name an error may show. A line that is mistyped, such as
 * "key: 0123", may hold a secret where a name would stand. */
static int named_size(const struct flags *flags, const struct flag_file *file)
{
    size_t size = strspn(file->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    if (!file->value && !flag_find(flags, file->name, size))
        return 0;
    return size < FLAG_NAME_SIZE ? (int)size : FLAG_NAME_SIZE;
}

/* Sets what the present line of FILE names. */
static bool take_line(struct flags_reading *reading, const char *path, const struct flag_file *file)
{
    const struct flags *flags = reading->flags;
    size_t size = strlen(file->name);
    const struct flag *flag = flag_find(flags, file->name, size);
    snprintf(reading->where, sizeof reading->where, "%.200s:%u: %.*s", path, file->line,
             named_size(flags, file), file->name);
    if (!file->value)
        return flags_refuse(reading, ": a line is name = value");
    if (!is_file_setting(flag) && flags->file_of &&
        is_file_setting(flag_find(flags->file_of, file->name, size)))
        return true;
    if (!is_file_setting(flag)) {
        const struct flag *nearest = flag_nearest(flags, file->name, size);
        if (!nearest || nearest == flag)
            return flags_refuse(reading, ": no such setting; --help lists them");
        return flags_refuse(reading, ": no such setting, did you mean %s? --help lists them",
                            nearest->name);
    }
    if (flag->kind != FLAG_LIST && reading->here[flag - flags->table])
        return flags_refuse(reading, ": is set twice");
    if ((flag->traits & FLAG_PRIVATE) && file->exposed && file->value[0] != '\0')
        return flags_refuse(reading, ": everybody can read or change this file: chmod o-rwx it");
    return flag_set(reading, flag, file->value);
}

/* Reads the file that a row with FLAG_FILE names, if one was given. */
static bool flags_file(struct flags_reading *reading)
{
    const struct flag *flag = reading->flags->table, *end = flag + reading->flags->count;
    while (flag < end && !(flag->traits & FLAG_FILE))
        flag++;
    if (flag == end || !reading->above[flag - reading->flags->table])
        return true;
    const char *path = *(const char **)((char *)reading->options + flag->offset);
    if (path[0] == '\0')
        return true;
    struct flag_file file;
    const char *why = flag_file_open(path, reading->flags->text, &file);
    snprintf(reading->where, sizeof reading->where, "%.300s", path);
    if (why)
        return flags_refuse(reading, ": cannot be read: %s", why);
    reading->found->file = file.text;
    while (flag_file_next(&file))
        if (!take_line(reading, path, &file))
            return false;
    return true;
}

static bool set_fallbacks(struct flags_reading *reading)
{
    const struct flags *flags = reading->flags;
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->table[i];
        snprintf(reading->where, sizeof reading->where, "--%s", flag->name);
        if (flag->fallback && !flag_set(reading, flag, (char *)flag->fallback))
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
    static bool (*const layers[])(struct flags_reading *) = {read_environment, flags_file,
                                                             set_fallbacks, check_required};
    struct flags_reading reading = {.flags = flags, .options = options, .found = out};
    assert(flags->count <= FLAG_ROWS_MOST);
    *out = (struct flags_found){.help = false};
    bool good = read_arguments(&reading, argc, argv);
    for (size_t i = 0; good && !out->help && i < sizeof layers / sizeof layers[0]; i++) {
        end_layer(&reading);
        good = layers[i](&reading);
    }
    if (!good) {
        wipe_free(out->file);
        out->file = NULL;
    }
    return good;
}
