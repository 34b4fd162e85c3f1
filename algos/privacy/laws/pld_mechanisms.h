/* Mechanisms with atoms, and Laplace, as outcomes. All three lose alike in both directions. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_PLD_MECHANISMS_H
#define TACET_ALGOS_PRIVACY_LAWS_PLD_MECHANISMS_H

#include <stdbool.h>

#include "algos/privacy/laws/pld.h"

/* Losses e, 0 and -e; what is left of the mass is told outright (an infinite loss). */
struct pld_atoms {
    double epsilon;           /* e >= 0 */
    double high, middle, low; /* their masses; low = high exp(-e) */
    double infinite;
};

/* The pair that dominates every (epsilon, delta)-private mechanism (Kairouz, Oh, Viswanath 2015):
 * with probability delta everything is told, else one bit by randomised response. */
struct pld_atoms pld_atoms_of_pair(double epsilon, double delta);

/* K-ary randomised response: a uniform bucket with probability NOISE_PARAMETER, else the true one;
 * neighbours differ in the true bucket. */
struct pld_atoms pld_atoms_of_response(double noise_parameter, double buckets);

/* A pld_mechanism of a struct pld_atoms. */
bool pld_atoms_outcomes(const void *parameters, double omit, const struct pld_grid *grid,
                        struct pld_outcomes *out);

/* Laplace noise of scale 1/epsilon on a value of sensitivity 1; parameters: const double *epsilon.
 * Its loss has atoms of mass 1/2 at epsilon and exp(-epsilon)/2 at -epsilon, and between them the
 * density exp((loss - epsilon)/2)/4. */
bool pld_laplace_outcomes(const void *parameters, double omit, const struct pld_grid *grid,
                          struct pld_outcomes *out);

#endif
