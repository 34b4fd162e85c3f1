/* Numbers as ECMAScript writes them (RFC 8785, section 3.2.2.3): the fewest digits that read back
 * as the same double.
 *
 * Almost every number that we write is a short decimal (0.1, 20, 1e-5), so m / 10^k is tried first:
 * for m <= 2^53 and k <= 22 both are exact, the quotient is correctly rounded, and equality proves
 * that the digits of m are enough. What is left takes 15, 16 or 17 digits from printf. */
#include "api/json_text.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A positive number: 0.DIGITS x 10^point. */
struct decimal {
    char digits[24];
    int count;
    int point;
};

static void decimal_from_integer(uint64_t m, int exponent, struct decimal *out)
{
    while (m % 10 == 0) {
        m /= 10;
        exponent++;
    }
    char reversed[24];
    int count = 0;
    for (; m > 0; m /= 10) {
        reversed[count++] = (char)('0' + m % 10);
    }
    for (int i = 0; i < count; i++) {
        out->digits[i] = reversed[count - 1 - i];
    }
    out->count = count;
    out->point = count + exponent;
}

static bool short_decimal(double value, struct decimal *out)
{
    static const double powers[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                    1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    const double exact = 9007199254740992.0; /* 2^53 */
    for (int k = 0; k < (int)(sizeof powers / sizeof powers[0]); k++) {
        double m = nearbyint(value * powers[k]);
        if (m > exact) {
            return false;
        }
        if (m >= 1 && m / powers[k] == value) {
            decimal_from_integer((uint64_t)m, -k, out);
            return true;
        }
    }
    return false;
}

static void long_decimal(double value, struct decimal *out)
{
    char text[40];
    /* Fifteen digits are too many only where doubles thin out, below DBL_MIN. */
    for (int precision = value < DBL_MIN ? 0 : 14; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (precision == 16 || strtod(text, NULL) == value) {
            break;
        }
    }
    /* "d.ddde[+-]xx"; the point is a comma in some locales, so digits are picked one by one. */
    const char *e = strchr(text, 'e');
    assert(e != NULL);
    int count = 0;
    for (const char *c = text; c < e; c++) {
        if (*c >= '0' && *c <= '9') {
            out->digits[count++] = *c;
        }
    }
    while (count > 1 && out->digits[count - 1] == '0') {
        count--;
    }
    out->count = count;
    out->point = (int)strtol(e + 1, NULL, 10) + 1;
}

/* ECMA-262, Number::toString, with N = point and K = count. */
static size_t layout(const struct decimal *decimal, char *out)
{
    int k = decimal->count, n = decimal->point;
    char *to = out;
    assert(k >= 1);
    if (k <= n && n <= 21) {
        memcpy(to, decimal->digits, (size_t)k);
        memset(to + k, '0', (size_t)(n - k));
        return (size_t)n;
    }
    if (0 < n && n <= 21) {
        memcpy(to, decimal->digits, (size_t)n);
        to[n] = '.';
        memcpy(to + n + 1, decimal->digits + n, (size_t)(k - n));
        return (size_t)k + 1;
    }
    if (-6 < n && n <= 0) {
        to[0] = '0';
        to[1] = '.';
        memset(to + 2, '0', (size_t)-n);
        memcpy(to + 2 - n, decimal->digits, (size_t)k);
        return 2 + (size_t)-n + (size_t)k;
    }
    *to++ = decimal->digits[0];
    if (k > 1) {
        *to++ = '.';
        memcpy(to, decimal->digits + 1, (size_t)(k - 1));
        to += k - 1;
    }
    int length = snprintf(to, 6, "e%+d", n - 1);
    return (size_t)(to - out) + (size_t)length;
}

size_t json_text_number(double value, char out[32])
{
    assert(isfinite(value));
    size_t sign = value < 0;
    if (value == 0) { /* also -0 */
        memcpy(out, "0", 2);
        return 1;
    }
    if (sign) {
        out[0] = '-';
        value = -value;
    }
    struct decimal decimal;
    if (!short_decimal(value, &decimal)) {
        long_decimal(value, &decimal);
    }
    size_t length = sign + layout(&decimal, out + sign);
    assert(length < 32);
    out[length] = '\0';
    return length;
}
