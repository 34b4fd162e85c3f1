/* The Fourier coefficients of a composition's tilted loss on a circle of grid places, both bounds
 * at once. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_PLD_SPECTRUM_H
#define TACET_ALGOS_PRIVACY_LAWS_PLD_SPECTRUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/laws/pld_tilted.h"

struct pld_spectrum {
    struct pld_bin *bin; /* increasing in frequency; owned */
    size_t count, capacity;
    double neglected; /* bound of the magnitude at every frequency that is not in bin */
};

/* The product over TERMS of the tilted laws' transforms, each to the power of its times. ROOTS is
 * of twice the circle's SIZE, a power of two from 4 on. PLD_TOO_LARGE when all frequencies would be
 * needed of a circle of more than 2^PLD_MAX_LOG2_TRANSFORM points; PLD_TOO_MUCH_WORK when that
 * would take more than is left of WORK. */
enum pld_status pld_spectrum_new(const struct pld_term *term, const struct pld_cumulants *cumulant,
                                 size_t count, double tilt, uint64_t size,
                                 const struct roots *roots, struct work *work,
                                 struct pld_spectrum *out);

/* Frees what SPECTRUM owns; it is then empty. */
void pld_spectrum_clear(struct pld_spectrum *spectrum);

#define PLD_MAX_LOG2_TRANSFORM 20 /* 30 ms and 100 MB */

#endif
