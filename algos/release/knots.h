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

/* VALUES[(2^bits + 1) x actions], knot by knot, become the values of a member of CLASS: clamped,
 * then halfway between the greatest member below and the least member above (McShane 1934): no
 * member comes nearer everywhere, and members stay as they are. What is no number counts as 0.
 * SCRATCH[2^bits + 1]. */
void knots_enforce(double *values, uint32_t bits, uint32_t actions,
                   const struct lipschitz_class *class, double *scratch);

/* X within [-LIMIT, LIMIT]; 0 where it is no number. */
double knots_clamp(double x, double limit);

/* How far, in 2-norm over the actions, the computed values of one function (knots_enforce, then
 * knots_at) can be from those of a true member of CLASS, all roundings paid for: what
 * gaussian_process_plan wants as evaluation_error. */
double knots_error(uint32_t bits, uint32_t actions, const struct lipschitz_class *class);

/* OUT[actions] at INDEX / 2^resolution, where resolution >= bits and INDEX <= 2^resolution. */
void knots_at(const double *values, uint32_t bits, uint32_t actions, uint32_t resolution,
              uint32_t index, double *out);

#endif
