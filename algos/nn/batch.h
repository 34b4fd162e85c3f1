/* Many rows through one perceptron, forth and back. A batch is a workspace: it holds the
 * activations and errors of up to CAPACITY rows and is used again for every step; parameters and
 * gradients are the caller's flat vectors in the layout of mlp.h. One thread at a time.
 *
 * A step: write rows to batch_input; batch_forward; write dLoss/dOutput to batch_output_error;
 * batch_backward; batch_gradient (plain sum), with per_example_scale before it (clipped sum). */
#ifndef TACET_ALGOS_NN_BATCH_H
#define TACET_ALGOS_NN_BATCH_H

#include "algos/nn/mlp.h"

#define BATCH_MAX_ROWS 65536

struct batch {
    struct mlp_shape shape;
    uint32_t capacity;
    float *input;                      /* capacity x shape.input */
    float *activation[MLP_MAX_LAYERS]; /* layer l's output, after its activation function */
    float
        *error[MLP_MAX_LAYERS]; /* dLoss/d(pre-activation) of layer l; of the last: dLoss/dOutput */
    float *memory;              /* what the pointers above point into; owned */
};

/* The size of the workspace that batch_new makes. */
size_t batch_bytes(const struct mlp_shape *shape, uint32_t capacity);

/* A workspace of zeros for CAPACITY rows (1 .. BATCH_MAX_ROWS), or NULL: no room. Free with
 * batch_free, which takes NULL too. */
struct batch *batch_new(const struct mlp_shape *shape, uint32_t capacity);

/* Frees BATCH; takes NULL. */
void batch_free(struct batch *batch);

/* Where the caller writes rows: capacity x input. */
float *batch_input(struct batch *batch);

/* Where the caller writes dLoss/dOutput: capacity x outputs. */
float *batch_output_error(struct batch *batch);

/* Outputs of the first ROWS rows: rows x outputs, valid until the next call. Here and in
 * batch_backward a row's bits do not depend on the rows beside it (matrix.h). */
const float *batch_forward(struct batch *batch, const float *parameters, uint32_t rows);

/* Propagates batch_output_error back to the error of every layer, for the first ROWS rows of the
 * last batch_forward, which may have had more rows. PARAMETERS are those of that forward. */
void batch_backward(struct batch *batch, const float *parameters, uint32_t rows);

/* Adds the gradients of the first ROWS rows to gradient[mlp_parameter_count]. */
void batch_gradient_add(const struct batch *batch, uint32_t rows, float *gradient);

/* Sets gradient[mlp_parameter_count] to the sum of the gradients of the first ROWS rows. */
void batch_gradient(const struct batch *batch, uint32_t rows, float *gradient);

#endif
