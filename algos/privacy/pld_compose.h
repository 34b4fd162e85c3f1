/* A mechanism run n times: delta(epsilon) from above and from below by one Fourier transform.
 *
 * The masses are tilted by exp(t * loss) before the transform and the tilt is undone on the sum, so
 * that the error of delta is relative to delta, not to one. Everything that a computer adds to the
 * mathematics is paid for: mass outside the window (Chernoff bounds of both tilted tails), rounding
 * of masses, of the transforms and of the n-th power. */
#ifndef TACET_ALGOS_PRIVACY_PLD_COMPOSE_H
#define TACET_ALGOS_PRIVACY_PLD_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/pld.h"

/* How to compose: the sum's losses are kept on [low, low + size) * step. */
struct pld_window {
    uint64_t times;    /* n >= 1 */
    double tilt;       /* t > 0 */
    double tilt_above; /* > 0; the upper tail is bounded with the cumulant at tilt + tilt_above */
    double tilt_below; /* > 0; the lower tail with that at tilt - tilt_below */
    int64_t low;
    size_t size; /* a power of two from 4 on */
};

/* Bounds of the n-fold mechanism's hockey-stick divergence on the window. */
struct pld_sum;

/* Composes UPPER, from pld_pessimistic, and LOWER, from pld_optimistic, both on one step. NULL when
 * memory is short. Free with pld_sum_free, which takes NULL. */
struct pld_sum *pld_compose(const struct pld *upper, const struct pld *lower,
                            const struct pld_window *window);
void pld_sum_free(struct pld_sum *sum);

/* The least epsilon >= 0 at which the mechanism is (epsilon, DELTA)-private lies in
 * [*out_lower, *out_upper]. *out_upper is INFINITY when the window ends below it; *out_lower is 0
 * when the window begins above it. */
void pld_sum_epsilon(const struct pld_sum *sum, double delta, double *out_lower, double *out_upper);

#endif
