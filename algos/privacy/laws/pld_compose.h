/* Mechanisms run many times: delta(epsilon) of the composition from above and from below.
 *
 * The masses are tilted by exp(t * loss) before they are transformed and the tilt is undone on the
 * sum, so that the error of delta is relative to delta, not to one. Everything that a computer adds
 * to the mathematics is paid for: mass outside the window (Chernoff bounds of both tilted tails),
 * rounding of masses, of the transforms and of their powers. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_PLD_COMPOSE_H
#define TACET_ALGOS_PRIVACY_LAWS_PLD_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/laws/pld.h"
#include "algos/privacy/math/interval.h"
#include "algos/privacy/math/work.h"

/* One mechanism of a composition, discretised both ways on one grid. */
struct pld_term {
    struct pld upper, lower; /* from pld_pessimistic and pld_optimistic */
    uint64_t times;          /* >= 1 */
};

/* How to compose: the sum's losses are kept on [low, low + size) * step. */
struct pld_window {
    double tilt;       /* t > 0 */
    double tilt_above; /* > 0; the upper tail is bounded with the cumulant at tilt + tilt_above */
    double tilt_below; /* > 0; the moment at tilt - tilt_below bounds the mass below the grid */
    int64_t low;
    uint64_t size;     /* a power of two, 4 .. 2^30 */
    struct work *work; /* what may be computed; NULL: it has no end. Borrowed */
};

/* Bounds of the composition's hockey-stick divergence on the window. */
struct pld_sum;

/* Composes TERMS, COUNT >= 1 of them, all on one step, which must outlive the sum. PLD_TOO_LARGE
 * and PLD_TOO_MUCH_WORK as of pld_spectrum_new. Free with pld_sum_free, which takes NULL. */
enum pld_status pld_compose(const struct pld_term *term, size_t count,
                            const struct pld_window *window, struct pld_sum **out);

/* Takes NULL. */
void pld_sum_free(struct pld_sum *sum);

/* Around the least epsilon >= 0 at which the composition is (epsilon, DELTA)-private. Upper is
 * INFINITY when the window ends below it; lower is 0 when the window begins above it, and INFINITY
 * when more than DELTA is told outright. */
struct privacy_interval pld_sum_epsilon(const struct pld_sum *sum, double delta);

/* Around the least delta at which the composition is (EPSILON, delta)-private. */
struct privacy_interval pld_sum_delta(const struct pld_sum *sum, double epsilon);

#endif
