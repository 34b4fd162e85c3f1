/* Forces a function into the class at its knots.
 *
 * With h the distance of two knots, the greatest member below f is g(i) = min_j f(j) + L h |i - j|,
 * and the least member above f is max_j f(j) - L h |i - j|. Each takes two passes, and the mean of
 * two members is a member. Rounding: a pass adds at most u V to the error of its neighbour at every
 * knot, so both together are off by at most 2^(bits + 1) u V and a little. */
#include "algos/release/knots.h"

#include <assert.h>
#include <math.h>

#define HALF_ULP 0x1p-53

/* Replaces F by the greatest member below it. */
static void lower_envelope(double *f, size_t count, double step)
{
    for (size_t i = 1; i < count; i++)
        f[i] = fmin(f[i], f[i - 1] + step);
    for (size_t i = count - 1; i-- > 0;)
        f[i] = fmin(f[i], f[i + 1] + step);
}

double knots_clamp(double x, double limit)
{
    return isnan(x) ? 0.0 : fmin(fmax(x, -limit), limit);
}

void knots_enforce(double *values, uint32_t bits, uint32_t actions,
                   const struct lipschitz_class *class, double *scratch)
{
    assert(bits <= KNOTS_MAX_BITS && actions > 0);
    size_t count = ((size_t)1 << bits) + 1;
    double step = ldexp(class->lipschitz, -(int)bits), limit = class->value_limit;
    for (uint32_t a = 0; a < actions; a++) {
        for (size_t i = 0; i < count; i++)
            scratch[i] = knots_clamp(values[i * actions + a], limit);
        lower_envelope(scratch, count, step); /* below */
        for (size_t i = 0; i < count; i++) {
            double below = scratch[i];
            scratch[i] = -knots_clamp(values[i * actions + a], limit);
            values[i * actions + a] = below;
        }
        lower_envelope(scratch, count, step); /* minus the least member above */
        for (size_t i = 0; i < count; i++)
            values[i * actions + a] =
                knots_clamp(0.5 * values[i * actions + a] - 0.5 * scratch[i], limit);
    }
}

double knots_error(uint32_t bits, uint32_t actions, const struct lipschitz_class *class)
{
    /* The passes; L h itself, rounded once and used up to 2^bits times, within 2 V in all; the mean
     * of two; and the four roundings of the interpolation. */
    double passes = ldexp(2.0, (int)bits + 1) + 16.0;
    return passes * HALF_ULP * class->value_limit * sqrt((double)actions) * (1.0 + 1e-14);
}

void knots_at(const double *values, uint32_t bits, uint32_t actions, uint32_t resolution,
              uint32_t index, double *out)
{
    assert(resolution >= bits && resolution < 31 && index <= (uint32_t)1 << resolution);
    uint32_t fine = resolution - bits, cell = index >> fine;
    double share = ldexp((double)(index - (cell << fine)), -(int)fine);
    const double *left = values + (size_t)cell * actions;
    for (uint32_t a = 0; a < actions; a++)
        out[a] = share == 0.0 ? left[a] : (1.0 - share) * left[a] + share * left[actions + a];
}
