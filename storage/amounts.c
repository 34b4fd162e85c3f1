/* Exact rounding of doubles to integer units.
 *
 * The product of a double and 1e9 (or 1e18: both are exact doubles) is HIGH + LOW without error,
 * LOW from a fused multiply-add; so the integer part and the sign of what is left over are exact,
 * and no figure is ever rounded the wrong way. */
#include "storage/amounts.h"

#include <assert.h>
#include <math.h>

#define NANO 1e9
#define ATTO 1e18
/* Below this, k units is a double without error, and k / scale the double nearest to k units. */
#define EXACT_INTEGERS 9007199254740992.0

static bool round_units(double value, double scale, bool up, int64_t *out)
{
    if (!(value >= 0) || value * scale > (double)LEDGER_UNITS_MAX) {
        return false;
    }
    double high = value * scale;
    double nearest = round(high);
    if (nearest < EXACT_INTEGERS && nearest / scale == value) {
        *out = (int64_t)nearest;
        return true;
    }
    double low = fma(value, scale, -high);
    double whole = floor(high);
    double rest = high - whole; /* in [0, 1), exact; the true rest is rest + low */
    int64_t units = (int64_t)whole;
    if (rest + low < 0) {
        /* HIGH was rounded up across an integer, or lies above 2^53 where it is one. */
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
    if (units > LEDGER_UNITS_MAX) {
        return false;
    }
    *out = units;
    return true;
}

bool ledger_units_up(double epsilon, int64_t *out)
{
    return round_units(epsilon, NANO, true, out);
}

bool ledger_units_down(double epsilon, int64_t *out)
{
    return round_units(epsilon, NANO, false, out);
}

bool ledger_delta_up(double delta, int64_t *out)
{
    return round_units(delta, ATTO, true, out);
}

bool ledger_delta_down(double delta, int64_t *out)
{
    return round_units(delta, ATTO, false, out);
}

bool ledger_units_times(int64_t units, int64_t count, int64_t *out)
{
    int64_t product;
    assert(units >= 0 && count >= 0);
    if (__builtin_mul_overflow(units, count, &product) || product > LEDGER_UNITS_MAX) {
        return false;
    }
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
