/* Numbers as ECMAScript writes them (RFC 8785, section 3.2.2.3): the fewest digits that read back
 * as the same double, laid out by ECMA-262's rules. */
#include "api/json/json_text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/shortest_digits.h"

#define DIGITS_MAX 17

/* A positive number: 0.DIGITS x 10^point. */
struct decimal {
    char digits[DIGITS_MAX + 1];
    int count;
    int point;
};

static void find_digits(double value, struct decimal *out)
{
    char text[32];
    shortest_digits(value, text);
    const char *c = text;
    out->count = 0;
    for (; *c != 'e'; c++)
        if (*c != '.')
            out->digits[out->count++] = *c;
    out->point = atoi(c + 1) + 1;
}

/* d.ddde+N, without a point where there is one digit, and without zeros before N. */
static size_t lay_out_exponent(const struct decimal *decimal, char *out)
{
    int exponent = decimal->point - 1, size = abs(exponent);
    size_t length = 0;
    out[length++] = decimal->digits[0];
    if (decimal->count > 1) {
        out[length++] = '.';
        memcpy(out + length, decimal->digits + 1, (size_t)decimal->count - 1);
        length += (size_t)decimal->count - 1;
    }
    out[length++] = 'e';
    out[length++] = exponent < 0 ? '-' : '+';
    if (size >= 100)
        out[length++] = (char)('0' + size / 100);
    if (size >= 10)
        out[length++] = (char)('0' + size / 10 % 10);
    out[length++] = (char)('0' + size % 10);
    return length;
}

/* ECMA-262, Number::toString, with N = point and K = count. Gives the length. */
static size_t lay_out(const struct decimal *decimal, char *out)
{
    int k = decimal->count, n = decimal->point;
    const char *digits = decimal->digits;
    assert(k >= 1 && k <= DIGITS_MAX);
    if (k <= n && n <= 21) {
        memcpy(out, digits, (size_t)k);
        memset(out + k, '0', (size_t)(n - k));
        return (size_t)n;
    }
    if (0 < n && n <= 21) {
        memcpy(out, digits, (size_t)n);
        out[n] = '.';
        memcpy(out + n + 1, digits + n, (size_t)(k - n));
        return (size_t)k + 1;
    }
    if (-6 < n && n <= 0) {
        memcpy(out, "0.00000", 7);
        memcpy(out + 2 - n, digits, (size_t)k);
        return (size_t)(2 - n + k);
    }
    return lay_out_exponent(decimal, out);
}

size_t json_text_number(double value, char out[32])
{
    assert(isfinite(value));
    if (value == 0) { /* also -0 */
        memcpy(out, "0", 2);
        return 1;
    }
    size_t sign = value < 0;
    out[0] = '-'; /* or the first digit */
    struct decimal decimal;
    find_digits(fabs(value), &decimal);
    size_t length = sign + lay_out(&decimal, out + sign);
    assert(length < 32);
    out[length] = '\0';
    return length;
}
