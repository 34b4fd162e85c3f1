/* The beta-binomial law: what TRIALS independent coins of chance Z show, Z drawn from Beta(A, B).
 * With it a Dirichlet draw leaves as a count of 2^40 trials, made of whole numbers and of coins
 * whose chances are right to a stated relative error: no last bits that nobody proved anything
 * about. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_BETA_BINOMIAL_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_BETA_BINOMIAL_H

#include <stdint.h>

struct noise_source;

#define NOISE_BETA_BINOMIAL_TRIALS (UINT64_C(1) << 40) /* at most */
#define NOISE_BETA_BINOMIAL_SHAPE  1e9                 /* A + B at most */

/* How many of TRIALS coins fall for the first side; A and B are at least 1. Discrete Laplace
 * proposals around the mode, accepted under the law's own concave logarithm. */
uint64_t noise_beta_binomial(struct noise_source *source, uint64_t trials, double a, double b);

/* Bounds |ln (probability drawn / probability of the law)| of every count, for A + B at most
 * SHAPES. It covers shapes that are off by 2^-49 of themselves, and, where that is above 1, one
 * that is off by 1e-12. It assumes that log and log1p err by at most 4 units in the last place
 * (glibc: 1). */
double noise_beta_binomial_error(double shapes);

/* What draws are made of, for tests: the logarithm of the probability of N, without the part that
 * does not depend on N. */
double noise_beta_binomial_log(double trials, double a, double b, double n);

#endif
