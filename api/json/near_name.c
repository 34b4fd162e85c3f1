/* Compares names without case, dashes and versions. */
#include "api/json/near_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PLAIN_SIZE 33
#define FAR        3 /* too far to be meant */

/* Writes the letters and digits of NAME in lower case, without a version at its end ("-v1", "_v0").
 */
static void near_plain(const char *name, char out[PLAIN_SIZE])
{
    size_t size = strlen(name), digits = 0, used = 0;
    while (digits < size && isdigit((unsigned char)name[size - 1 - digits]))
        digits++;
    if (digits > 0 && size > digits + 2 && name[size - digits - 1] == 'v' &&
        strchr("-_", name[size - digits - 2]))
        size -= digits + 2;
    for (size_t i = 0; i < size && used < PLAIN_SIZE - 1; i++)
        if (isalnum((unsigned char)name[i]))
            out[used++] = (char)tolower((unsigned char)name[i]);
    out[used] = '\0';
}

/* The Levenshtein distance (Levenshtein 1966). */
static unsigned letters_off(const char *a, const char *b)
{
    unsigned row[PLAIN_SIZE];
    size_t n = strlen(a), m = strlen(b);
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[m];
}

/* True when NAME is the first letters of the words of WHOLE, which _ joins. */
static bool is_initials(const char *name, const char *whole)
{
    size_t count = 0, size = strlen(name);
    for (const char *at = whole; *at != '\0'; at++)
        if (at == whole || at[-1] == '_') {
            if (count == size || name[count] != *at)
                return false;
            count++;
        }
    return count == size && size > 1;
}

static unsigned name_distance(const char *plain, const char *candidate)
{
    char other[PLAIN_SIZE];
    near_plain(candidate, other);
    unsigned off = letters_off(plain, other);
    if (off == 0)
        return 0;
    if (is_initials(plain, candidate))
        return 1;
    if (off < FAR && off < strlen(plain))
        return off;
    size_t size = strlen(plain), same = 0;
    while (same < size && plain[same] == other[same])
        same++;
    bool begins = (size > 2 && same == size) || (same > 3 && 3 * same >= 2 * size);
    return begins ? FAR - 1 : FAR;
}

const char *near_name(const char *name, const char *const *names, unsigned count)
{
    const char *nearest = NULL;
    char plain[PLAIN_SIZE];
    unsigned best = FAR;
    near_plain(name, plain);
    for (unsigned i = 0; i < count && plain[0] != '\0'; i++) {
        unsigned distance = name_distance(plain, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *near_hint(const char *name, const char *const *names, unsigned count,
                      char out[NEAR_HINT_SIZE])
{
    const char *near = near_name(name, names, count);
    out[0] = '\0';
    if (near)
        snprintf(out, NEAR_HINT_SIZE, "; did you mean \"%.70s\"?", near);
    return out;
}
