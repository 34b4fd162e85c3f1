/* The Gaussian mechanism on action probabilities: y = projection onto the simplex of
 * p + N(0, sigma^2 I). More accurate than the Dirichlet mechanism at equal privacy, and priced at
 * every order.
 *
 * Its arithmetic is a proof, not an estimate: p is rounded to multiples of 2^-20, the noise is
 * normal noise rounded to integers (exact, noise_lattice.h), and everything after it is a function
 * of the noisy integers. Rounding p moves neighbours apart by at most sqrt(m) 2^-20, which is paid
 * for: Delta' = Delta + sqrt(m) 2^-20 and mu = Delta' / sigma. See docs/proofs/gaussian_simplex.md.
 */
#ifndef TACET_ALGOS_PRIVACY_ANSWERS_GAUSSIAN_SIMPLEX_H
#define TACET_ALGOS_PRIVACY_ANSWERS_GAUSSIAN_SIMPLEX_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/math/interval.h"
#include "algos/privacy/noise/noise.h"

#define GAUSSIAN_SIMPLEX_MAX_ACTIONS 64
#define GAUSSIAN_SIMPLEX_GRID        (INT64_C(1) << 20) /* a row's sum, in units of the lattice */
#define GAUSSIAN_SIMPLEX_SIGMA_MIN   1e-4
#define GAUSSIAN_SIMPLEX_SIGMA_MAX   1e3

struct gaussian_simplex {
    uint32_t actions;   /* m in 2..64 */
    double sigma;       /* standard deviation on each coordinate, 1e-4..1e3 */
    double sensitivity; /* Delta: 2-norm bound between neighbouring p */
};

/* NULL when the parameters are in range, else a sentence that says which is not. */
const char *gaussian_simplex_problem(const struct gaussian_simplex *mechanism);

/* The mu of Gaussian differential privacy (Dong, Roth, Su 2022) of one answer, rounded up; n
 * answers, adaptive or not, are sqrt(n) mu. */
double gaussian_simplex_mu(const struct gaussian_simplex *mechanism);

/* Certified Renyi divergence of ORDER > 1 between neighbours, order mu^2 / 2; INFINITY for an order
 * that is not finite. */
double gaussian_simplex_renyi_bound(const struct gaussian_simplex *mechanism, double order);

/* The least sigma with which QUERIES answers of that many ACTIONS and SENSITIVITY stay within the
 * total MU, such as gaussian_dp_mu_for(epsilon, delta) for a plan fixed in advance. It takes no
 * account of the range of sigma; INFINITY when no sigma will do. */
double gaussian_simplex_sigma(uint32_t actions, double sensitivity, double queries, double mu);

/* One answer at P, a distribution over the actions: multiples of 2^-20 that sum to exactly 1. False
 * when P is not a distribution. */
bool gaussian_simplex_sample(const struct gaussian_simplex *mechanism, struct noise_source *noise,
                             const double *p, double *z);

/* The point of the lattice simplex {z >= 0, sum z = 2^20} for the noisy integers Y[m]: their
 * Euclidean projection, rounded. Integer arithmetic alone: every |y| below 2^56. What rounding
 * leaves over goes to the largest y, ties to the lower number. */
void gaussian_simplex_project(uint32_t actions, const int64_t *y, int64_t *z);

/* Radius around p, in the 2-norm, that holds an answer with probability 1 - BETA: the noise within
 * the plane of the simplex is sigma times a chi of m - 1 degrees of freedom, a projection brings
 * it no farther, and rounding adds 2 sqrt(m) 2^-20. Never above sqrt(2). */
double gaussian_simplex_error_radius(const struct gaussian_simplex *mechanism, double beta);

#endif
