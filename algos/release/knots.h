/* Functions of one variable that are given by their values at public, equally spaced knots of
 * [0, 1] and linear between: how a Q-function of one coordinate is put into the public class that a
 * guarantee rests on, whatever network it came from.
 *
 * The class: |Q_a| <= V and |Q_a(x) - Q_a(y)| <= L |x - y| for every action a. A function that is
 * linear between knots is in it when its knots are, so the values are forced, not the weights. */
#ifndef TACET_ALGOS_RELEASE_KNOTS_H
#define TACET_ALGOS_RELEASE_KNOTS_H

#include <stddef.h>
#include <stdint.h>

#include "algos/nn/lipschitz_class.h"

#define KNOTS_MAX_BITS 14 /* 2^bits cells, 2^bits + 1 knots */

/* Replaces VALUES[(2^bits + 1) x actions], knot by knot, by those of a member of CLASS: clamps
 * them, then takes the mean of the greatest member below and the least member above (McShane 1934).
 * No member comes nearer everywhere, and a member stays as it is. A NaN counts as 0. SCRATCH has
 * room for 2^bits + 1 numbers. */
void knots_enforce(double *values, uint32_t bits, uint32_t actions,
                   const struct lipschitz_class *class, double *scratch);

/* Clamps X to [-LIMIT, LIMIT]; a NaN becomes 0. */
double knots_clamp(double x, double limit);

/* Bounds the distance, in 2-norm over the actions, between the computed values of a function
 * (knots_enforce, then knots_at) and a true member of CLASS. The bound covers all roundings;
 * gaussian_process_plan takes it as evaluation_error. */
double knots_error(uint32_t bits, uint32_t actions, const struct lipschitz_class *class);

/* Writes to OUT[actions] the function at INDEX / 2^resolution, where resolution >= bits and INDEX
 * <= 2^resolution. */
void knots_at(const double *values, uint32_t bits, uint32_t actions, uint32_t resolution,
              uint32_t index, double *out);

#endif
