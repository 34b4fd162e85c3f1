/* What the tests of the privacy floor share: golden files, and distances between laws. */
#ifndef TACET_TESTS_UNIT_PRIVACY_GOLDEN_H
#define TACET_TESTS_UNIT_PRIVACY_GOLDEN_H

#include <jansson.h>
#include <stddef.h>

#include "algos/privacy/noise.h"

/* tests/golden/privacy/NAME; the test fails when it cannot be read. Release with json_decref. */
json_t *golden_load(const char *name);
double golden_number(const json_t *object, const char *key);

/* A stream that repeats; different for each NUMBER. */
struct noise_source *golden_noise(unsigned number);

/* Kolmogorov-Smirnov: sqrt(n) times the greatest distance between the sample's law and CDF; sorts
 * SAMPLE. Under the law it exceeds 3.3 with probability 7e-10 (2 exp(-2 d^2)). */
double golden_ks(double *sample, size_t n, double (*cdf)(double));
#define KS_LIMIT 3.3

/* Chi-square of COUNTS against EXPECTED, as standard deviations from its mean (Wilson-Hilferty);
 * under the law it exceeds 6 with probability 1e-9, or a little more when n is small. */
double golden_chi_square(const double *counts, const double *expected, size_t n);
#define CHI_LIMIT 6.0

double golden_normal_cdf(double x);

#endif
