/* Reads the value of one flag. */
#include "server/flags_reading.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define ID_LENGTH     40

bool flags_refuse(struct flags_reading *reading, const char *format, ...)
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

bool flag_read(struct flags_reading *reading, const struct flag *flag, char *text)
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
