/* A function on [0, 1] plus the path of a Gaussian process, released number by number on a lattice
 * and never stored: one 256-bit key is all of its noise.
 *
 * A function f at the points i / 2^bits is the same as its 2^bits + 1 coordinates, those of its two
 * ends and of every midpoint of the bisection (gaussian_path_axis.h):
 *
 *     u(mid) = (f(mid) - w (f(left) + f(right))) / spread.
 *
 * The squares of f's coordinates add up to the square of its norm in the kernel's space, and those
 * of the path are independent normals. So each coordinate is rounded to a public lattice and gets
 * exact noise there, as numbers of the other forms do (gaussian_lattice.h); what is told of the
 * function is computed from these. A coordinate's noise is a pseudo-random function of key, path
 * and midpoint: the same point has the same value for ever, in any order, on any thread and after
 * any restart. Theorem: docs/proofs/gaussian_process.md.
 *
 * Values rest on long double and the C library, so replicas must run the same build. */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_TREE_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/functions/gaussian_lattice.h"
#include "algos/privacy/functions/gaussian_path.h"

#define GAUSSIAN_TREE_MAX_PATHS 16

/* Whether PATHS functions of that joint SENSITIVITY in the kernel's norm have a lattice: see
 * gaussian_lattice_fits. LAW has one dimension and no problem. */
bool gaussian_tree_fits(const struct gaussian_path_law *law, uint32_t paths, double sensitivity);

/* The lattice of all coordinates, for functions of size at most VALUE_LIMIT; gaussian_tree_fits
 * holds. Its noise has a deviation of law->sigma and what rounding adds. */
struct gaussian_lattice gaussian_tree_lattice(const struct gaussian_path_law *law, uint32_t paths,
                                              double sensitivity, double value_limit);

/* Whether LATTICE can be one of gaussian_tree_lattice for LAW and VALUE_LIMIT: for what is read
 * back. */
bool gaussian_tree_takes(const struct gaussian_path_law *law,
                         const struct gaussian_lattice *lattice, double value_limit);

struct gaussian_tree;

/* KEY is copied into locked memory; draw it with noise_bytes for each release anew. NULL when no
 * page can be locked. */
struct gaussian_tree *gaussian_tree_new(const struct gaussian_path_law *law,
                                        const struct gaussian_lattice *lattice,
                                        const uint8_t key[GAUSSIAN_PATH_KEY_BYTES]);

/* Erases the key and frees. Takes NULL. */
void gaussian_tree_free(struct gaussian_tree *tree);

/* Writes to VALUES the functions at INDEX / 2^bits, the same whenever it is asked. */
typedef void gaussian_tree_function(const void *context, uint32_t index, double *values);

/* What may be told of COUNT functions, at most GAUSSIAN_TREE_MAX_PATHS, at INDEX: FUNCTION plus
 * noise, rounded and clipped by gaussian_grid_round. VALUE_LIMIT is positive and below 2^40 sigma.
 * Any number of threads may share TREE. */
void gaussian_tree_release(const struct gaussian_tree *tree, uint32_t count, uint32_t index,
                           gaussian_tree_function *function, const void *context,
                           double value_limit, double *out);

/* ---- what releases are made of, for tests */

/* The noise of the coordinate at INDEX of path NUMBER, in steps of the lattice. */
int64_t gaussian_tree_noise(const struct gaussian_tree *tree, uint32_t number, uint32_t index);

#endif
