/* round(N(0, 4096^2)) as integers, from a table: the noise of "arithmetic":"exact".
 *
 * Whoever adds it to an integer s gets round(s + N(0, 4096^2)), because s is whole: post-processing
 * of the continuous Gaussian mechanism, so every theorem and every accountant of the latter holds
 * for what is computed, subsampling and composition included. (For the discrete Gaussian under
 * Poisson sampling no such proof is known to us.) Use: choose the public lattice step
 * h = sigma / 4096, round what is added up to multiples of h in a way whose sensitivity is paid
 * for, add as int64_t, add this, multiply by h.
 *
 * How near. |R| goes to 12 standard deviations (beyond them lie 3.6e-33 of the law). Each cell's
 * mass is right to a relative 2^-60 plus 2^-126, so the law is at statistical distance 2^-61 of the
 * true one. N draws in a mechanism that is (epsilon, delta)-private with the true law:
 *   - delta + N 2^-61 (1 + e^epsilon); or, sharper for large epsilon,
 *   - epsilon + 2 eta and e^eta delta + 2 e^(epsilon + eta) p with eta = N 2^-59 + 2^-33 and
 *     p = (2e-17 N)^2 / 2 + 9e-26 N: but for an event of probability p at most one draw is beyond
 *     8.5 deviations and none beyond 10.5, and then all cells together are off by a factor e^eta.
 *     N = 7e9 (10^5 steps of 70,000 weights): epsilon + 2.5e-8, delta + 2e-14 e^epsilon. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_ROUNDED_GAUSSIAN_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_ROUNDED_GAUSSIAN_H

#include <stddef.h>
#include <stdint.h>

struct noise_source;

/* Standard deviation, in steps of the lattice, before rounding. */
#define ROUNDED_GAUSSIAN_SIGMA 4096

/* The greatest value there is: 12 standard deviations. */
#define ROUNDED_GAUSSIAN_MAX (12 * ROUNDED_GAUSSIAN_SIGMA)

/* The table: 0.8 MB, read only once it is made, so any number of threads may share it. */
struct rounded_gaussian;

/* Makes the table; free it with rounded_gaussian_free. */
struct rounded_gaussian *rounded_gaussian_new(void);

/* Takes NULL. */
void rounded_gaussian_free(struct rounded_gaussian *table);

/* Adds an independent draw to each of VALUES[count]. Sums that leave int64_t wrap: keep |value|
 * below 2^62. */
void rounded_gaussian_add(const struct rounded_gaussian *table, struct noise_source *source,
                          int64_t *values, size_t count);

/* What draws are made of, for tests and audits. P(|R| >= SIZE) in units of 2^-127, its high and low
 * 64 bits, 1 <= SIZE <= ROUNDED_GAUSSIAN_MAX. */
void rounded_gaussian_tail(const struct rounded_gaussian *table, uint32_t size, uint64_t *high,
                           uint64_t *low);

/* The |R| of a uniform number of 127 bits, UPPER (63 of them) and LOWER: how many tails exceed it.
 */
uint32_t rounded_gaussian_size(const struct rounded_gaussian *table, uint64_t upper,
                               uint64_t lower);

#endif
