/* One pass over the bytes. A number of at most 15 digits and a small power of ten is a quotient or
 * product of two doubles that are exact, so its value is the nearest double, as strtod's is
 * (Clinger, How to read floating point numbers accurately, 1990). One of up to 19 digits that is a
 * fraction, as programs write doubles, is divided in integers; any other goes to strtod. */
#include "api/call/state_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_DIGITS 15 /* of an integer that a double holds whatever it is */
#define EXACT_TENS   22 /* 10^22 is a double, 10^23 is not */
#define WHOLE_DIGITS 19 /* of an integer that 64 bits hold whatever it is, and a power of ten */
#define TOKEN_MAX    64 /* bytes of a number that is copied for strtod */

typedef unsigned __int128 wide;

static const double tens[EXACT_TENS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

struct scan {
    const unsigned char *at, *end;
};

static void skip_space(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

/* Takes C, which may stand behind white space. */
static bool take(struct scan *scan, unsigned char c)
{
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static bool take_text(struct scan *scan, const char *text)
{
    size_t size = strlen(text);
    skip_space(scan);
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, text, size) != 0)
        return false;
    scan->at += size;
    return true;
}

static bool on_digit(const struct scan *scan)
{
    return scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9';
}

/* The digits that are read so far, as an integer as long as they are few. */
struct digits {
    uint64_t value;
    unsigned count; /* without zeros in front */
};

/* False: there is none. */
static bool take_digits(struct scan *scan, struct digits *digits)
{
    const unsigned char *at = scan->at;
    uint64_t value = digits->value;
    unsigned count = digits->count;
    for (unsigned digit; at < scan->end && (digit = *at - (unsigned)'0') <= 9; at++) {
        if (count < WHOLE_DIGITS)
            value = value * 10 + digit;
        count += value != 0;
    }
    bool some = at > scan->at;
    *digits = (struct digits){value, count};
    scan->at = at;
    return some;
}

static bool take_exponent(struct scan *scan, int *out)
{
    bool negative = false;
    int value = 0;
    scan->at++;
    if (scan->at < scan->end && (*scan->at == '+' || *scan->at == '-'))
        negative = *scan->at++ == '-';
    if (!on_digit(scan))
        return false;
    for (; on_digit(scan); scan->at++)
        value = value < 10000 ? value * 10 + (*scan->at - '0') : value;
    *out = negative ? -value : value;
    return true;
}

static bool by_library(const unsigned char *first, const unsigned char *end, double *out)
{
    char token[TOKEN_MAX + 1];
    size_t size = (size_t)(end - first);
    if (size > TOKEN_MAX)
        return false;
    memcpy(token, first, size);
    token[size] = '\0';
    *out = strtod(token, NULL);
    return isfinite(*out);
}

/* The double nearest to VALUE / 10^POWER, both of at most WHOLE_DIGITS, VALUE not 0: a quotient of
 * 63 or 64 bits, whose last says whether anything is left behind it, rounds as the number does. */
static double quotient(uint64_t value, unsigned power)
{
    uint64_t ten = (uint64_t)tens[power];
    int high = __builtin_clzll(value), low = __builtin_clzll(ten);
    wide numerator = (wide)(value << high) << 63;
    uint64_t divisor = ten << low, bits = (uint64_t)(numerator / divisor);
    bits |= (wide)bits * divisor != numerator;
    return ldexp((double)bits, low - high - 63);
}

static bool take_number(struct scan *scan, double *out)
{
    skip_space(scan);
    const unsigned char *first = scan->at;
    struct digits digits = {0};
    bool negative = scan->at < scan->end && *scan->at == '-';
    scan->at += negative;
    const unsigned char *whole = scan->at;
    if (!take_digits(scan, &digits) || (*whole == '0' && scan->at - whole > 1))
        return false;
    int exponent = 0;
    if (scan->at < scan->end && *scan->at == '.') {
        const unsigned char *point = ++scan->at;
        if (!take_digits(scan, &digits))
            return false;
        exponent = scan->at - point < 10000 ? -(int)(scan->at - point) : -10000;
    } else if (scan->at == scan->end || (*scan->at | 0x20) != 'e') {
        /* An integer: -0 is 0, and large ones are for the tree to judge. */
        double whole_value = (double)digits.value;
        *out = negative && digits.value > 0 ? -whole_value : whole_value;
        return digits.count <= EXACT_DIGITS;
    }
    int power = 0;
    if (scan->at < scan->end && (*scan->at | 0x20) == 'e' && !take_exponent(scan, &power))
        return false;
    exponent += power;
    if (digits.count > EXACT_DIGITS && digits.count <= WHOLE_DIGITS && exponent < 0 &&
        exponent >= -WHOLE_DIGITS) {
        double value = quotient(digits.value, (unsigned)-exponent);
        *out = negative ? -value : value;
        return true;
    }
    if (digits.count > EXACT_DIGITS || exponent < -EXACT_TENS || exponent > EXACT_TENS)
        return by_library(first, scan->at, out);
    double value = (double)digits.value;
    value = exponent < 0 ? value / tens[-exponent] : value * tens[exponent];
    *out = negative ? -value : value;
    return true;
}

/* An array of numbers, behind those that are there. */
static bool take_state(struct scan *scan, double *numbers, size_t room, size_t *count)
{
    if (!take(scan, '['))
        return false;
    do {
        if (*count == room || !take_number(scan, &numbers[*count]))
            return false;
        ++*count;
    } while (take(scan, ','));
    return take(scan, ']');
}

static bool take_states(struct scan *scan, size_t room, size_t *count, struct state_scan *out)
{
    if (!take(scan, '['))
        return false;
    do {
        size_t before = *count;
        if (!take_state(scan, out->numbers, room, count))
            return false;
        out->dim = before == 0 ? (uint32_t)*count : out->dim;
        if (*count - before != out->dim)
            return false;
    } while (take(scan, ','));
    return take(scan, ']');
}

bool state_scan(const unsigned char *bytes, size_t size, struct state_scan *out)
{
    struct scan scan = {bytes, bytes + size};
    size_t room = STATE_SCAN_ROOM(size), count = 0;
    if (room > UINT32_MAX || !take(&scan, '{'))
        return false;
    out->batch = !take_text(&scan, "\"state\"");
    if ((out->batch && !take_text(&scan, "\"states\"")) || !take(&scan, ':'))
        return false;
    bool read = out->batch ? take_states(&scan, room, &count, out)
                           : take_state(&scan, out->numbers, room, &count);
    if (!read || !take(&scan, '}'))
        return false;
    out->dim = out->batch ? out->dim : (uint32_t)count;
    out->count = (uint32_t)count / out->dim;
    skip_space(&scan);
    return scan.at == scan.end;
}
