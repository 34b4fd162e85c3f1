/* Dates in keys are public: the client wrote them. */
#include "storage/answers/key_date.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS      INT64_C(86400000)
#define NAME_DIGITS 19

/* True when TEXT begins as SHAPE: 0 is a digit, x a hexadecimal one, v one of 89ab, and every other
 * character is itself. */
static bool key_has_shape(const char *text, const char *shape)
{
    for (; *shape != '\0'; shape++, text++) {
        const char *set = NULL;
        if (*shape == '0')
            set = "0123456789";
        else if (*shape == 'x')
            set = "0123456789abcdefABCDEF";
        else if (*shape == 'v')
            set = "89abAB";
        if (*text == '\0' || (set ? !strchr(set, *text) : *text != *shape))
            return false;
    }
    return true;
}

static int64_t key_number(const char *text, size_t size, int base)
{
    char digits[NAME_DIGITS + 1];
    assert(size < sizeof digits);
    memcpy(digits, text, size);
    digits[size] = '\0';
    return strtoll(digits, NULL, base);
}

static int64_t uuid_ms(const char *key)
{
    return key_number(key, 8, 16) << 16 | key_number(key + 9, 4, 16);
}

/* Days from 1970-01-01 to a date of the Gregorian calendar; -1: there is no such day. */
static int64_t calendar_days(int64_t year, int64_t month, int64_t day)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > before[month] - before[month - 1] + (leap && month == 2))
        return -1;
    int64_t last = year - 1; /* its leap days are over */
    int64_t leaps = last / 4 - last / 100 + last / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    return (year - 1970) * 365 + leaps + before[month - 1] + (leap && month > 2) + day - 1;
}

static int64_t calendar_ms(const char *key)
{
    int64_t days = calendar_days(key_number(key, 4, 10), key_number(key + 5, 2, 10),
                                 key_number(key + 8, 2, 10));
    return days < 0 ? -1 : days * DAY_MS;
}

int64_t key_date_ms(const char *key)
{
    if (strlen(key) == 36 && key_has_shape(key, "xxxxxxxx-xxxx-7xxx-vxxx-xxxxxxxxxxxx"))
        return uuid_ms(key);
    if (key_has_shape(key, "0000-00-00-"))
        return calendar_ms(key);
    const char *first = strchr(key, ' '), *last = strrchr(key, ' ');
    if (first != last && strlen(last + 1) == NAME_DIGITS &&
        key_has_shape(last + 1, "0000000000000000000"))
        return key_number(last + 1, NAME_DIGITS, 10);
    return -1;
}

void key_date_name(const char *name, int64_t ms, char out[ANSWER_KEY_SIZE])
{
    int size = snprintf(out, ANSWER_KEY_SIZE, "%s %0*lld", name, NAME_DIGITS, (long long)ms);
    assert(ms >= 0 && size > 0 && size < ANSWER_KEY_SIZE);
    (void)size;
}
