/* One mechanism's two laws, tilted and put on a circle of places, and their Fourier coefficients.
 */
#ifndef TACET_ALGOS_PRIVACY_LAWS_PLD_TILTED_H
#define TACET_ALGOS_PRIVACY_LAWS_PLD_TILTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/laws/pld_compose.h"
#include "algos/privacy/math/fft.h"
#include "algos/privacy/math/roots.h"

/* The cumulants of one term's laws at the tilt. */
struct pld_cumulants {
    double upper, lower;
};

/* Both laws, each of sum one. */
struct pld_tilted {
    uint64_t *place; /* modulo the circle's size */
    double *upper, *lower;
    size_t count;
    uint64_t times;
    double error;  /* bound of the absolute error of any coefficient that is summed directly */
    double spread; /* standard deviation of the place in either law, bound from above */
};

/* sum_p x_p exp(-2 pi i k p / size) over the places p. */
struct pld_bin {
    uint64_t frequency; /* k, 0 .. size/2; the others are complex conjugates */
    double upper_re, upper_im, lower_re, lower_im;
    double error; /* bound of the absolute error of both */
};

/* TERM tilted and put on a circle of SIZE places, a power of two. False: no room (pld.h). */
bool pld_tilted_new(const struct pld_term *term, const struct pld_cumulants *cumulant, double tilt,
                    uint64_t size, struct pld_tilted *out);

/* Frees what T owns; it is then empty. */
void pld_tilted_clear(struct pld_tilted *t);

/* One coefficient. ROOTS is of twice the circle's size. */
void pld_tilted_at(const struct pld_tilted *t, const struct roots *roots, uint64_t frequency,
                   struct pld_bin *out);

/* All of them by FFT, which is of SIZE, into SPECTRUM of 2 SIZE numbers; gives a bound of the error
 * of each. */
double pld_tilted_transform(const struct pld_tilted *t, uint64_t size, struct fft *fft,
                            double *spectrum);

/* Coefficient FREQUENCY of a SPECTRUM of pld_tilted_transform. */
void pld_tilted_separate(const double *spectrum, uint64_t size, uint64_t frequency, double error,
                         struct pld_bin *out);

#endif
