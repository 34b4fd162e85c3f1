/* Numbers as ECMAScript writes them (RFC 8785, section 3.2.2.3): the fewest digits that read back
 * as the same double, laid out by ECMA-262's rules. */
#include "api/json/json_text.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "api/json/shortest_digits.h"

/* A positive number: 0.DIGITS x 10^point. */
struct decimal {
    char digits[24]; /* behind them anything */
    int count;
    int point;
};

static void library_decimal(double value, struct decimal *out)
{
    char text[32];
    shortest_digits(value, text);
    const char *c = text;
    int count = 0;
    for (; *c != 'e'; c++)
        if (*c != '.')
            out->digits[count++] = *c;
    int exponent = 0;
    for (const char *digit = c + 2; *digit != '\0'; digit++)
        exponent = 10 * exponent + (*digit - '0');
    out->count = count;
    out->point = (c[1] == '-' ? -exponent : exponent) + 1;
}

/* VALUE is positive, and not a whole number below SHORTEST_NEAR_BELOW. */
static void shortest_decimal(double value, struct decimal *out)
{
    if (value >= SHORTEST_NEAR_FROM && value < SHORTEST_NEAR_BELOW)
        out->count = (int)shortest_digits_near(value, out->digits, &out->point);
    else
        library_decimal(value, out);
}

/* "e-7", "e+21": EXPONENT of at most three digits. */
static char *put_exponent(char *to, int exponent)
{
    unsigned rest = exponent < 0 ? (unsigned)-exponent : (unsigned)exponent;
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    if (rest >= 100)
        *to++ = (char)('0' + rest / 100);
    if (rest >= 10)
        *to++ = (char)('0' + rest / 10 % 10);
    *to++ = (char)('0' + rest % 10);
    return to;
}

/* A whole number below SHORTEST_NEAR_BELOW: so few digits are nobody else's, and none can be left
 * out. */
static size_t put_whole(uint64_t value, char *out)
{
    char digits[16];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < count; i++)
        out[i] = digits[count - 1 - i];
    out[count] = '\0';
    return count;
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
        memcpy(to, decimal->digits, SHORTEST_NEAR_DIGITS);
        to[n] = '.';
        memcpy(to + n + 1, decimal->digits + n, (size_t)(k - n));
        return (size_t)k + 1;
    }
    if (-6 < n && n <= 0) {
        memcpy(to, "0.00000", 8); /* copies of one length are quicker than of what is needed */
        memcpy(to + 2 - n, decimal->digits, SHORTEST_NEAR_DIGITS);
        return 2 + (size_t)-n + (size_t)k;
    }
    *to++ = decimal->digits[0];
    if (k > 1) {
        *to++ = '.';
        memcpy(to, decimal->digits + 1, (size_t)(k - 1));
        to += k - 1;
    }
    return (size_t)(put_exponent(to, n - 1) - out);
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
    if (value < SHORTEST_NEAR_BELOW && value == (double)(int64_t)value)
        return sign + put_whole((uint64_t)value, out + sign);
    struct decimal decimal;
    shortest_decimal(value, &decimal);
    size_t length = sign + layout(&decimal, out + sign);
    assert(length < 32);
    out[length] = '\0';
    return length;
}
