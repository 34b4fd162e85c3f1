/* Names of flags and of their variables. */
#include "server/flags.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define FLAG_PREFIX "TACET_"

void flag_variable(const struct flag *flag, char out[FLAG_NAME_SIZE])
{
    snprintf(out, FLAG_NAME_SIZE, FLAG_PREFIX "%s", flag->name);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

void flag_of_variable(const char *variable, char out[FLAG_NAME_SIZE])
{
    size_t size = strcspn(variable + strlen(FLAG_PREFIX), "=");
    snprintf(out, FLAG_NAME_SIZE, "%.*s", (int)(size < FLAG_NAME_SIZE ? size : FLAG_NAME_SIZE - 1),
             variable + strlen(FLAG_PREFIX));
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
}

/* The Levenshtein distance between the first SIZE letters of an unknown flag A and the flag B
 * (Levenshtein 1966). */
static size_t edit_distance(const char *a, size_t size, const char *b)
{
    size_t row[FLAG_NAME_SIZE], width = strlen(b);
    if (size >= FLAG_NAME_SIZE || width >= FLAG_NAME_SIZE)
        return FLAG_NAME_SIZE;
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

const struct flag *flag_nearest(const struct flags *flags, const char *name, size_t size)
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

const struct flag *flag_find(const struct flags *flags, const char *name, size_t size)
{
    const struct flag *flag = flags->table, *end = flag + flags->count;
    while (flag < end && (strlen(flag->name) != size || memcmp(flag->name, name, size) != 0))
        flag++;
    return flag < end ? flag : NULL;
}

/* Kubernetes gives a container TACET_PORT, TACET_PORT_80_TCP and TACET_SERVICE_HOST when there is a
 * service of the name tacet. */
static bool is_orchestrators(const char *variable)
{
    const char *name = variable + strlen(FLAG_PREFIX);
    return strncmp(name, "SERVICE_", 8) == 0 || strncmp(name, "PORT=", 5) == 0 ||
           (strncmp(name, "PORT_", 5) == 0 && isdigit((unsigned char)name[5]));
}

static bool is_named(const char *variable, const char *const *names)
{
    size_t size = strcspn(variable, "=");
    while (*names && (strlen(*names) != size || memcmp(*names, variable, size) != 0))
        names++;
    return *names;
}

/* True when VARIABLE is written as the variable of a row. */
static bool is_setting(const struct flags *flags, const char *variable)
{
    char name[FLAG_NAME_SIZE], written[FLAG_NAME_SIZE];
    flag_of_variable(variable, name);
    const struct flag *flag = flag_find(flags, name, strlen(name));
    if (!flag || !(flag->traits & FLAG_ENVIRONMENT))
        return false;
    flag_variable(flag, written);
    return is_named(variable, (const char *const[]){written, NULL});
}

char *const *flag_unknown_variable(const struct flags *flags, char *const *environment)
{
    for (; *environment; environment++)
        if (strncmp(*environment, FLAG_PREFIX, strlen(FLAG_PREFIX)) == 0 &&
            !is_setting(flags, *environment) && !is_named(*environment, flags->others) &&
            !is_orchestrators(*environment))
            return environment;
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return !a || !b ? a == b : strcmp(a, b) == 0;
}

static bool same_list(const struct flag_list *a, const struct flag_list *b)
{
    bool same = a->count == b->count;
    for (unsigned i = 0; same && i < a->count; i++)
        same = same_text(a->text[i], b->text[i]);
    return same;
}

bool flag_same(const struct flag *flag, const void *a, const void *b)
{
    const void *one = (const char *)a + flag->offset, *other = (const char *)b + flag->offset;
    switch (flag->kind) {
    case FLAG_COUNT:
    case FLAG_BYTES: return *(const uint64_t *)one == *(const uint64_t *)other;
    case FLAG_NUMBER:
    case FLAG_WHOLE: return memcmp(one, other, sizeof(double)) == 0;
    case FLAG_CHOICE: return *(const int *)one == *(const int *)other;
    case FLAG_SWITCH:
    case FLAG_ON_OFF: return *(const bool *)one == *(const bool *)other;
    case FLAG_LIST: return same_list(one, other);
    case FLAG_SECRET: return true;
    case FLAG_TEXT:
    case FLAG_ANY_TEXT:
    case FLAG_BARE_TEXT:
    case FLAG_ID: break;
    }
    return same_text(*(const char *const *)one, *(const char *const *)other);
}
