/* Sums of per-example gradients in whole numbers, for noise that carries a proof
 * (algos/privacy/noise/noise_rounded_gaussian.h): every example's gradient is truncated to a public
 * lattice, coordinate by coordinate, and whole numbers are added, in which no order shows. */
#ifndef TACET_ALGOS_NN_PER_EXAMPLE_LATTICE_H
#define TACET_ALGOS_NN_PER_EXAMPLE_LATTICE_H

#include "algos/nn/batch.h"

/* The greatest clip norm, in steps of the lattice. */
#define PER_EXAMPLE_LATTICE_MAX (1 << 20)

/* SUM[mlp_parameter_count] += for each of the first ROWS (at most BATCH_MAX_ROWS) rows its gradient
 * times FACTOR[row] times STEPS_PER_UNIT, each coordinate truncated toward zero. After
 * batch_backward_fixed and per_example_factors; instead of per_example_scale and
 * batch_gradient_add.
 *
 * When the factors are those of per_example_factors for a clip norm C, times weights of at most 1,
 * a row's whole numbers have 2-norm at most C STEPS_PER_UNIT: what is left out of the clip for
 * rounding (2^-20) is more than the roundings here (each number is at most three of 2^-24 off), and
 * truncation makes nothing longer. C STEPS_PER_UNIT must be at most PER_EXAMPLE_LATTICE_MAX. A row
 * whose factor is 0 contributes nothing, even where it is not finite. */
void per_example_lattice_add(const struct batch *batch, uint32_t rows, const float *factor,
                             float steps_per_unit, int64_t *sum);

#endif
