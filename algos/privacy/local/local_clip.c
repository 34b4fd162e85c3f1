/* Norms relative to the greatest coordinate, so that nothing overflows and nothing underflows. */
#include "algos/privacy/local/local_clip.h"

#include <math.h>
#include <stdlib.h>

/* The greatest |coordinate|; 0 when one of them is not finite. */
static double greatest_size(const double *vector, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(vector[i]))
            return 0.0;
        most = fmax(most, fabs(vector[i]));
    }
    return most;
}

/* The clipped vector is (vector / most) * clip * the result. */
static double l1_share(const double *vector, size_t count, double most, double clip)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += fabs(vector[i] / most);
    return fmin(most / clip, 1.0 / sum);
}

void local_clip_l1_units(const double *vector, size_t count, double clip, int64_t *units)
{
    double most = greatest_size(vector, count);
    int64_t total = 0;
    if (most == 0.0) {
        for (size_t i = 0; i < count; i++)
            units[i] = 0;
        return;
    }
    double scale = l1_share(vector, count, most, clip) * (double)LOCAL_CLIP_UNITS;
    for (size_t i = 0; i < count; i++) {
        units[i] = (int64_t)(vector[i] / most * scale);
        total += llabs(units[i]);
    }
    /* What rounding of the sum above may have left over; depends on this vector alone. */
    for (size_t i = 0; i < count && total > LOCAL_CLIP_UNITS; i++) {
        int64_t size = llabs(units[i]), over = total - LOCAL_CLIP_UNITS;
        int64_t cut = size < over ? size : over;
        units[i] += units[i] > 0 ? -cut : cut;
        total -= cut;
    }
}

void local_clip_l1(const double *vector, size_t count, double clip, double *out)
{
    double most = greatest_size(vector, count);
    double share = most > 0.0 ? l1_share(vector, count, most, clip) : 0.0;
    for (size_t i = 0; i < count; i++)
        out[i] = most > 0.0 ? vector[i] / most * share * clip : 0.0;
}

void local_clip_lift(const double *vector, size_t count, double clip, double *out)
{
    double most = greatest_size(vector, count), sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        out[i] = most > 0.0 ? vector[i] / most : 0.0;
        sum += out[i] * out[i];
    }
    double share = most > 0.0 ? fmin(most / clip, 1.0 / sqrt(sum)) : 0.0;
    double norm = share * sqrt(sum);
    for (size_t i = 0; i < count; i++)
        out[i] *= share;
    out[count] = sqrt(fmax(0.0, (1.0 - norm) * (1.0 + norm)));
}
