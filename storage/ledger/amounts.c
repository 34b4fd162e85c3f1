/* Exact rounding of doubles to integer units.
 *
 * DESIGN. A double that is the nearest one to a decimal of at most 15 digits was written as that
 * decimal, and is taken for it: 0.1 is 100000000 nano, and not the 100000000.00000000555 that its
 * bits say. Any other double is taken by its bits: its product with 1e9 (or 1e18: both are exact
 * doubles) is HIGH + LOW without error, LOW from a fused multiply-add, so that no figure is ever
 * rounded the wrong way. */
#include "storage/ledger/amounts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NANO          1e9
#define NANO_DIGITS   9
#define ATTO          1e18
#define ATTO_DIGITS   18
#define DECIMAL_TEXT  32
#define DECIMAL_AFTER 14 /* digits after the first */

/* Finds VALUE = *out_digits x 10^*out_exponent if VALUE is a decimal of at most 15 digits. */
static bool as_decimal(double value, int64_t *out_digits, int *out_exponent)
{
    char text[DECIMAL_TEXT];
    snprintf(text, sizeof text, "%.*e", DECIMAL_AFTER, value);
    if (strtod(text, NULL) != value)
        return false;
    int64_t digits = text[0] - '0';
    for (unsigned i = 2; i < 2 + DECIMAL_AFTER; i++) /* text[1] is the point */
        digits = digits * 10 + (text[i] - '0');
    *out_digits = digits;
    *out_exponent = (int)strtol(text + 3 + DECIMAL_AFTER, NULL, 10) - DECIMAL_AFTER;
    return true;
}

/* Converts DIGITS x 10^EXPONENT to an integer. */
static bool round_decimal(int64_t digits, int exponent, bool up, int64_t *out)
{
    bool rest = false;
    for (; exponent > 0 && digits > 0; exponent--) {
        if (digits > LEDGER_UNITS_MAX / 10)
            return false;
        digits *= 10;
    }
    for (; exponent < 0 && digits > 0; exponent++) {
        rest = rest || digits % 10 != 0;
        digits /= 10;
    }
    digits += rest && up;
    if (digits > LEDGER_UNITS_MAX)
        return false;
    *out = digits;
    return true;
}

/* Computes VALUE times SCALE from the bits of VALUE. */
static bool round_binary(double value, double scale, bool up, int64_t *out)
{
    double high = value * scale;
    double low = fma(value, scale, -high);
    double whole = floor(high);
    double rest = high - whole; /* in [0, 1), exact; the true remainder is rest + low */
    int64_t units = (int64_t)whole;
    if (rest + low < 0) {
        /* HIGH was rounded up to an integer, or is so large that every double near it is an
         * integer. */
        double below = floor(low);
        units += (int64_t)below;
        rest = low - below;
        low = 0;
    } else if (low >= 1 - rest) {
        double above = floor(low - (1 - rest)) + 1;
        units += (int64_t)above;
        rest = (low - (1 - rest)) - (above - 1);
        low = 0;
    }
    units += up && rest + low > 0;
    if (units > LEDGER_UNITS_MAX)
        return false;
    *out = units;
    return true;
}

static bool round_units(double value, double scale, int scale_digits, bool up, int64_t *out)
{
    int64_t digits;
    int exponent;
    if (!(value >= 0) || value * scale > (double)LEDGER_UNITS_MAX)
        return false;
    value = fabs(value); /* -0 is 0 */
    if (as_decimal(value, &digits, &exponent))
        return round_decimal(digits, exponent + scale_digits, up, out);
    return round_binary(value, scale, up, out);
}

bool ledger_units_up(double epsilon, int64_t *out)
{
    return round_units(epsilon, NANO, NANO_DIGITS, true, out);
}

bool ledger_units_down(double epsilon, int64_t *out)
{
    return round_units(epsilon, NANO, NANO_DIGITS, false, out);
}

bool ledger_delta_up(double delta, int64_t *out)
{
    return round_units(delta, ATTO, ATTO_DIGITS, true, out);
}

bool ledger_delta_down(double delta, int64_t *out)
{
    return round_units(delta, ATTO, ATTO_DIGITS, false, out);
}

bool ledger_units_times(int64_t units, int64_t count, int64_t *out)
{
    int64_t product;
    assert(units >= 0 && count >= 0);
    if (__builtin_mul_overflow(units, count, &product) || product > LEDGER_UNITS_MAX)
        return false;
    *out = product;
    return true;
}

double ledger_units_value(int64_t units)
{
    return (double)units / NANO;
}

double ledger_delta_value(int64_t delta_units)
{
    return (double)delta_units / ATTO;
}
