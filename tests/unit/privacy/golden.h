/* What the tests of the privacy floor share: golden files, and distances between laws. */
#ifndef TACET_TESTS_UNIT_PRIVACY_GOLDEN_H
#define TACET_TESTS_UNIT_PRIVACY_GOLDEN_H

#include <jansson.h>
#include <stddef.h>

#include "algos/privacy/noise/noise.h"

/* tests/golden/privacy/NAME; the test fails when it cannot be read. Release with json_decref. */
json_t *golden_load(const char *name);
double golden_number(const json_t *object, const char *key);

/* A stream that repeats; different for each NUMBER. */
struct noise_source *golden_noise(unsigned number);

/* ---- chance ----
 *
 * Keys are fixed, so a test that passes passes always. Were they random, each comparison with one
 * of the three limits below would fail with probability at most 1e-9 (a few skewed means, whose
 * normal law is approximate, with three times that). All suites of this program together make some
 * four hundred: a false alarm in fewer than one of a million runs, all in all. */

/* How far SEEN, a normal variate of this MEAN and DEVIATION, is from its mean, in deviations. */
double golden_z(double seen, double mean, double deviation);

/* The same for a COUNT of N coins of PROBABILITY, however rare: sqrt(2 N KL(count / N ||
 * probability)), by Chernoff above Z with probability 2 exp(-Z^2 / 2) at most; INFINITY for what
 * cannot be. */
double golden_coins(double count, double n, double probability);
#define Z_LIMIT 6.55

/* Kolmogorov-Smirnov: sqrt(n) times the greatest distance between the sample's law and CDF; sorts
 * SAMPLE. Under the law it exceeds D with probability 2 exp(-2 D^2) at most (Massart 1990). */
double golden_ks(double *sample, size_t n, double (*cdf)(double));
#define KS_LIMIT 3.3

/* Chi-square of COUNTS against EXPECTED, as standard deviations from its mean (Wilson-Hilferty);
 * for any number of cells above 6.3 with probability 1.5e-10 at most, if none expects few. */
double golden_chi_square(const double *counts, const double *expected, size_t n);
#define CHI_LIMIT 6.3

double golden_normal_cdf(double x);
double golden_laplace_cdf(double x);

#endif
