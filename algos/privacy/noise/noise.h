/* Randomness that protects people. Nothing else in Tacet may draw noise; what is promised and what
 * is not is in docs/proofs/noise.md.
 *
 * The generator is noise_source.h; the laws are on one page each, and this one gathers them. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_H

#include "algos/privacy/noise/noise_beta_binomial.h" /* for Dirichlet answers */
#include "algos/privacy/noise/noise_continuous.h"    /* normal; public grids */
#include "algos/privacy/noise/noise_discrete.h" /* exact: categories, discrete Laplace, Poisson samples */
#include "algos/privacy/noise/noise_rounded_gaussian.h" /* the provable Gaussian, on a lattice */
#include "algos/privacy/noise/noise_source.h"           /* the generator, uniform words */

#endif
