/* The two tables. */
#include "algos/privacy/math/roots.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

/* exp(2 pi i m / size), every part within 2^-53 or so: the angle is first brought below 45 degrees,
 * by whole numbers. */
static void unit_root(uint64_t m, uint64_t size, double *out)
{
    uint64_t octant = 8 * m / size, rest = 8 * m % size; /* size <= 2^32 */
    if (octant & 1)
        rest = size - rest;
    double angle = 0.25 * M_PI * ((double)rest / (double)size), c = cos(angle), s = sin(angle);
    if ((octant + 1) & 2) {
        double kept = c;
        c = s;
        s = kept;
    }
    out[0] = octant >= 2 && octant < 6 ? -c : c;
    out[1] = octant >= 4 ? -s : s;
}

void roots_new(uint64_t size, struct roots *out)
{
    assert(size > 0 && size <= (uint64_t)1 << 32 && !(size & (size - 1)));
    uint64_t fine = (uint64_t)1 << ROOTS_LOG2_FINE, coarse = size > fine ? size / fine : 1;
    *out = (struct roots){.size = size,
                          .fine = memory_new(2 * fine, sizeof(double)),
                          .coarse = memory_new(2 * coarse, sizeof(double))};
    for (uint64_t m = 0; m < fine && m < size; m++)
        unit_root(m, size, out->fine + 2 * m);
    for (uint64_t m = 0; m < coarse; m++)
        unit_root(m * fine % size, size, out->coarse + 2 * m);
}

void roots_clear(struct roots *roots)
{
    free(roots->fine);
    free(roots->coarse);
    *roots = (struct roots){0};
}
