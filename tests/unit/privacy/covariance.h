/* Samples of a normal vector against its covariance: for the tests of Gaussian paths. */
#ifndef TACET_TESTS_UNIT_PRIVACY_COVARIANCE_H
#define TACET_TESTS_UNIT_PRIVACY_COVARIANCE_H

#include <stddef.h>

#define COVARIANCE_MAX 16 /* coordinates */

/* Replaces each of the COUNT rows SAMPLE[count x size] by the inverse Cholesky factor of
 * COVARIANCE[size x size] times it: under the law all entries become independent standard normals.
 */
void covariance_whiten(double *sample, size_t count, size_t size, const double *covariance);

/* Of whitened rows: count (sum_(i<j) s_ij^2 + sum_i (s_ii - 1)^2 / 2), s the second moments about
 * 0, follows chi-square with size (size + 1) / 2 degrees; given as standard deviations from its
 * mean (Wilson-Hilferty): exceeds CHI_LIMIT with probability 3e-7. */
double covariance_deviation(const double *white, size_t count, size_t size);

/* exp(-beta sum |x_j - y_j|) sigma^2 of points POINT[size][dimensions], for GROUPS independent
 * copies: [groups size x groups size]. */
void covariance_of_points(double beta, double sigma, const double *point, size_t size,
                          size_t dimensions, size_t groups, double *covariance);

#endif
