/* Powers of one root of unity, from two short tables. */
#ifndef TACET_ALGOS_PRIVACY_MATH_ROOTS_H
#define TACET_ALGOS_PRIVACY_MATH_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOTS_LOG2_FINE 10
#define ROOTS_ERROR     0x1p-51 /* of a root, absolute: two table entries and their product */

/* exp(2 pi i m / size) = fine[m mod 2^10] * coarse[m / 2^10]. */
struct roots {
    uint64_t size;         /* a power of two, 1 .. 2^32 */
    double *fine, *coarse; /* (real, imaginary) pairs; owned */
};

/* The tables of SIZE roots, a power of two up to 2^32. Clear them. */
void roots_new(uint64_t size, struct roots *out);

/* Frees the tables. */
void roots_clear(struct roots *roots);

/* exp(2 pi i M / size), M any integer modulo 2^64. */
static inline void roots_at(const struct roots *roots, uint64_t m, double *re, double *im)
{
    m &= roots->size - 1;
    const double *f = roots->fine + 2 * (m & ((1u << ROOTS_LOG2_FINE) - 1));
    const double *c = roots->coarse + 2 * (m >> ROOTS_LOG2_FINE);
    *re = f[0] * c[0] - f[1] * c[1];
    *im = f[0] * c[1] + f[1] * c[0];
}

#endif
