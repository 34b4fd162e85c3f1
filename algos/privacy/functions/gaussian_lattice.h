/* Gaussian releases of numbers without floating-point noise: each number is rounded to a public
 * lattice, noise on the lattice is exact (noise_lattice.h), and all that follows is a function of
 * whole numbers. Rounding moves neighbours apart; the noise is larger by just as much, so that
 * sensitivity over sigma, which was priced, stays what it is. */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_LATTICE_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_LATTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct noise_source;

struct gaussian_lattice {
    double step;    /* a power of two */
    uint64_t scale; /* of the noise, for noise_lattice_gaussian */
};

/* Whether COUNT numbers of that SENSITIVITY (2-norm) and SIGMA have a lattice: not when sigma is
 * more than 2^30 / sqrt(count) times the sensitivity. Plans do not get there: they have at most
 * 2^20 numbers, and noise of at most a million times the sensitivity. */
bool gaussian_lattice_fits(double sensitivity, double sigma, size_t count);

/* The lattice of COUNT numbers, none beyond MOST, which together are released with deviation SIGMA;
 * gaussian_lattice_fits holds. Each may come with an error of half a step, 2^-59 MOST or more. */
struct gaussian_lattice gaussian_lattice_of(double sensitivity, double sigma, size_t count,
                                            double most);

/* VALUE, rounded to the lattice, and its noise. */
long double gaussian_lattice_draw(const struct gaussian_lattice *lattice,
                                  struct noise_source *noise, long double value);

#endif
