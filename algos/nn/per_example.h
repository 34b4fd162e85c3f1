/* Per-example clipping without per-example gradients ("ghost norms", Goodfellow 2015; in the one
 * backward form of Bu et al. 2022, "book-keeping"). The gradient of a dense layer for one example
 * is the outer product of its error d and the layer's input a, with d again for the bias, so its
 * squared norm is |d|^2 (|a|^2 + 1). An error row scaled by c gives c times that example's
 * gradient, so after scaling the ordinary weight product gives the clipped sum. */
#ifndef TACET_ALGOS_NN_PER_EXAMPLE_H
#define TACET_ALGOS_NN_PER_EXAMPLE_H

#include "algos/nn/batch.h"

/* Adds to SQUARED_NORM[rows] each row's squared gradient norm over all of the batch's tensors;
 * after batch_backward. Sums are taken in double. Call it for every network that one example moves:
 * the norm is joint. NaN or infinity where a row is not finite, or has an activation so large (norm
 * above 1e15) that scaled errors would lose their precision. */
void per_example_squared_norm_add(const struct batch *batch, uint32_t rows, double *squared_norm);

/* The inner product of A[count] and B[count], summed in double: exact for whole numbers as long as
 * the product of their lengths is at most 2^53. */
double per_example_inner_product(const float *a, const float *b, uint32_t count);

/* Sets SQUARED_NORM[rows] to the same for the sum of each GROUP consecutive rows' gradients, once
 * in each of its rows, or to the largest of theirs if that is more, so that no single one passes
 * the clip either; for GROUP above 1 it is raised by GROUP 2^-22 for the rounding of scaled rows
 * that cancel. ROWS is a multiple of GROUP. The inner product of two rows' gradients is (d_i . d_j)
 * (a_i . a_j + 1). NaN or infinity where one of the group's rows has it. */
void per_example_group_squared_norm(const struct batch *batch, uint32_t rows, uint32_t group,
                                    double *squared_norm);

/* FACTOR[rows] = min(1, clip_norm / norm), kept a little low for rounding; 0 for a row whose norm
 * is not finite or above 1e20 clip_norm: such an example contributes nothing, because NaN and
 * underflow would pass any clip. */
void per_example_factors(const double *squared_norm, uint32_t rows, double clip_norm,
                         float *factor);

/* Scales the errors of the first ROWS rows; where the factor is 0 the row's errors and activations
 * become 0 even if they were not finite. batch_gradient then gives the clipped sum. */
void per_example_scale(struct batch *batch, uint32_t rows, const float *factor);

#endif
