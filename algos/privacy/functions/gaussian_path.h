/* The stateless path of a Gaussian process: one 256-bit key is the whole function. The same point
 * has the same value for ever, in any order, on any thread and after any restart; nothing is
 * stored, and deleting the key ends the release. Kernel sigma^2 exp(-beta sum_j |x_j - y_j|) on
 * [0, 1]^dimensions at the points i / 2^bits: the covariance there is exact but for rounding.
 *
 * The normals are a pseudo-random function of the key: privacy is computational, as with every
 * generator. Values rest on long double and the C library, so replicas must run the same build. */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PATH_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/functions/gaussian_path_axis.h"

#define GAUSSIAN_PATH_KEY_BYTES      32
#define GAUSSIAN_PATH_MAX_DIMENSIONS 4
#define GAUSSIAN_PATH_MAX_TERMS      110000 /* (bits + 2)^dimensions: about 15 ms an evaluation */

/* Public; bits is 1 .. GAUSSIAN_PATH_MAX_BITS: 2^bits cells along each axis. */
struct gaussian_path_law {
    double beta;  /* from 1e-9 to 1e9 */
    double sigma; /* standard deviation at every point, from 1e-12 to 1e12 */
    uint32_t bits, dimensions;
};

/* NULL when in range, else a sentence that names what is not. */
const char *gaussian_path_problem(const struct gaussian_path_law *law);

struct gaussian_path;

/* A path of LAW, which must have no problem. KEY is copied into locked memory; draw it with
 * noise_bytes for each release anew, store it encrypted, never show it. NULL when no page can be
 * locked. */
struct gaussian_path *gaussian_path_new(const struct gaussian_path_law *law,
                                        const uint8_t key[GAUSSIAN_PATH_KEY_BYTES]);

/* Erases the key and frees. Takes NULL. */
void gaussian_path_free(struct gaussian_path *path);

/* The grid point nearest to X[dimensions], each coordinate clamped into [0, 1] before. False, INDEX
 * untouched, when a coordinate is NaN. 0.1 and 0.1F are one point. */
bool gaussian_path_quantise(const struct gaussian_path_law *law, const double *x, uint32_t *index);

/* Path NUMBER (one per action: they are independent) at the grid point INDEX[dimensions], each at
 * most 2^bits, before rounding. For tests and for sums that gaussian_grid_round finishes; only what
 * that gives may leave. Any number of threads may share PATH. */
long double gaussian_path_value(const struct gaussian_path *path, uint32_t number,
                                const uint32_t *index);

/* What may be told of paths 0 .. COUNT - 1 at the point INDEX: MEAN[count] plus the path, rounded
 * and clipped by gaussian_grid_round, to OUT[count], which may be MEAN. A mean is the released
 * function AT THE GRID POINT, index / 2^bits, never at the point that was asked for: points of one
 * cell share their noise, so means taken at two of them would show their difference without any.
 * VALUE_LIMIT is positive and below 2^40 sigma. */
void gaussian_path_release_all(const struct gaussian_path *path, uint32_t count,
                               const uint32_t *index, const double *mean, double value_limit,
                               double *out);

#endif
