/* Sums of per-example gradients in whole numbers, for noise that carries a proof
 * (algos/privacy/noise/noise_rounded_gaussian.h).
 *
 * A layer's gradient for one example is the outer product of its error d and its input a. Both are
 * rounded to whole numbers first: a times 2^p, and d times FACTOR times UNITS / 2^p, each to one of
 * the two integers next to it as a public dither says. The outer product of the two is then whole,
 * in steps of 1 / UNITS, and its expectation over the dither is the clipped gradient. p depends on
 * the example alone. The norm of what is added is computed in whole numbers, too: the bound below
 * is no matter of rounding. Some rows may be one example together (a group): the bound is then on
 * the sum of their whole gradients and on each of them. Products of whole numbers are summed in
 * float by BLAS, exactly and whatever its order of additions: no partial sum exceeds 2^24. */
#ifndef TACET_ALGOS_NN_PER_EXAMPLE_LATTICE_H
#define TACET_ALGOS_NN_PER_EXAMPLE_LATTICE_H

#include "algos/nn/batch.h"

/* So many rows may be one example. */
#define PER_EXAMPLE_GROUP_MOST 64

/* No example's whole gradient is longer than this, in steps of the lattice (2-norm, all tensors
 * jointly). */
#define PER_EXAMPLE_LATTICE_NORM 65536 /* DP_SGD_LATTICE_NORM */

/* So many rows may be added at once. */
#define PER_EXAMPLE_LATTICE_ROWS 256

/* What a network needs to round its gradients: the dither of a step, and what becomes of the rows.
 */
struct per_example_lattice {
    float *dither[2][MLP_MAX_LAYERS]; /* of inputs and of errors, in [-1/2, 1/2). Row i of a group
                                       * reads them from place i on: roundings of a group's rows
                                       * would add up if they had the same coins */
    float *error[MLP_MAX_LAYERS];     /* whole errors, PER_EXAMPLE_LATTICE_ROWS x width */
    float *scale[MLP_MAX_LAYERS];     /* of each row: a layer's input for the bias */
    float *memory;                    /* what the pointers above point into; owned */
};

/* Makes the workspace for SHAPE. Free with per_example_lattice_clear. */
void per_example_lattice_init(struct per_example_lattice *lattice, const struct mlp_shape *shape);

/* Frees what LATTICE holds; takes a workspace that is all zero. */
void per_example_lattice_clear(struct per_example_lattice *lattice);

/* Draws the dither of step STEP of the run SEED: public coins. */
void per_example_lattice_dither(struct per_example_lattice *lattice, const struct mlp_shape *shape,
                                uint64_t seed, uint64_t step);

/* Makes the gradients of the first ROWS (at most PER_EXAMPLE_LATTICE_ROWS) rows whole, each times
 * its FACTOR, in steps of 1 / UNITS. Each GROUP (at most PER_EXAMPLE_GROUP_MOST) consecutive rows
 * are one example with one factor; ROWS is a multiple of GROUP. FACTOR must be those of
 * per_example_factors for the clip norm GROUP PER_EXAMPLE_LATTICE_NORM / UNITS, times weights of at
 * most 1 / GROUP; the rounding typically takes less than 1 % more. Inputs above some 1000 in norm
 * leave few steps for errors, so more is lost of them. A group with a row that is not finite, or
 * does not fit, becomes zero. What becomes of a group depends on its rows, the dither, FACTOR and
 * UNITS alone (batch.h). Call it instead of per_example_scale, and per_example_lattice_product
 * instead of batch_gradient; it overwrites inputs and activations. */
void per_example_lattice_round(struct per_example_lattice *lattice, struct batch *batch,
                               uint32_t rows, uint32_t group, const float *factor, double units);

/* A part of a network's parameters: the weights of some units of a layer; the last part of a layer
 * has its biases too. */
struct per_example_part {
    uint32_t layer, first, units;
    size_t offset, count; /* of parameters, side by side */
};

/* Gives the number of parts that SHAPE's parameters make, some thousand each; OUT (NULL: nowhere)
 * receives them in order. */
uint32_t per_example_parts(const struct mlp_shape *shape, struct per_example_part *out);

/* PRODUCT[mlp_parameter_count], within PART, = (ADD: +=) the sum of the whole gradients of the
 * first ROWS rows that were rounded: whole numbers, exact for up to PER_EXAMPLE_LATTICE_ROWS rows
 * in all, in any order. */
void per_example_lattice_product(const struct per_example_lattice *lattice,
                                 const struct batch *batch, uint32_t rows,
                                 const struct per_example_part *part, float *product, bool add);

/* SUM[count] += one example's whole GRADIENT, in steps of 1 / UNITS: cut to the norm
 * PER_EXAMPLE_LATTICE_NORM and rounded towards zero. What is not finite adds nothing. */
void per_example_lattice_add_one(const float *gradient, size_t count, double units, int64_t *sum);

#endif
