/* Bracketing and golden section. */
#include "algos/privacy/math/minimum.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#define GOLDEN 0.6180339887498949

struct look {
    double x, value;
};

struct valley {
    double (*value)(const void *context, double x);
    const void *context;
    struct look low, middle, high;
};

static struct look look_at(const struct valley *valley, double x)
{
    double value = valley->value(valley->context, x);
    return (struct look){x, isnan(value) ? INFINITY : value};
}

/* Until both ends are above the middle, or at the end of the range. */
static void minimum_bracket(struct valley *valley, double start, double least, double greatest)
{
    double step = 1.0;
    valley->middle = look_at(valley, start);
    while (isinf(valley->middle.value) && valley->middle.x > least)
        valley->middle = look_at(valley, fmax(least, valley->middle.x - 2.0));
    valley->low = look_at(valley, fmax(least, valley->middle.x - step));
    valley->high = look_at(valley, fmin(greatest, valley->middle.x + step));
    while (valley->high.value < valley->middle.value && valley->high.x < greatest) {
        valley->low = valley->middle;
        valley->middle = valley->high;
        step *= 1.6;
        valley->high = look_at(valley, fmin(greatest, valley->middle.x + step));
    }
    while (valley->low.value < valley->middle.value && valley->low.x > least) {
        valley->high = valley->middle;
        valley->middle = valley->low;
        step *= 1.6;
        valley->low = look_at(valley, fmax(least, valley->middle.x - step));
    }
}

static struct look best_of(struct look a, struct look b)
{
    return b.value < a.value ? b : a;
}

double minimum_of(double (*value)(const void *context, double x), const void *context, double start,
                  double least, double greatest, double width, double *out_value)
{
    assert(least <= start && start <= greatest && width > 0.0);
    struct valley valley = {.value = value, .context = context};
    minimum_bracket(&valley, start, least, greatest);
    struct look best = best_of(valley.middle, best_of(valley.low, valley.high));
    double low = valley.low.x, high = valley.high.x;
    struct look left = look_at(&valley, high - GOLDEN * (high - low));
    struct look right = look_at(&valley, low + GOLDEN * (high - low));
    while (high - low > width) {
        if (left.value <= right.value) {
            high = right.x;
            right = left;
            left = look_at(&valley, high - GOLDEN * (high - low));
        } else {
            low = left.x;
            left = right;
            right = look_at(&valley, low + GOLDEN * (high - low));
        }
    }
    best = best_of(best, best_of(left, right));
    if (out_value)
        *out_value = best.value;
    return best.x;
}
