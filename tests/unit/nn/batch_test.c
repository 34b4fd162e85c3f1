/* Layout, forward and gradients of perceptrons against the definition in double. */
#include "algos/nn/batch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

static const struct mlp_shape shapes[] = {
    {.input = 4, .layer_count = 3, .width = {64, 48, 2}, .activation = MLP_RELU},
    {.input = 4, .layer_count = 3, .width = {20, 33, 3}, .activation = MLP_TANH},
    {.input = 19, .layer_count = 2, .width = {40, 18}, .activation = MLP_TANH},
    {.input = 3, .layer_count = 1, .width = {5}, .activation = MLP_RELU},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], ROWS = 37 };

static uint32_t outputs_of(const struct mlp_shape *shape)
{
    return shape->width[shape->layer_count - 1];
}

Test(mlp, layout_is_weight_then_bias_of_each_layer)
{
    const struct mlp_shape *shape = &shapes[0];
    cr_assert_eq(mlp_weight_offset(shape, 0), 0);
    cr_assert_eq(mlp_bias_offset(shape, 0), 4 * 64);
    cr_assert_eq(mlp_weight_offset(shape, 1), 5 * 64);
    cr_assert_eq(mlp_bias_offset(shape, 2), 5 * 64 + 65 * 48 + 48 * 2);
    cr_assert_eq(mlp_parameter_count(shape), 5 * 64 + 65 * 48 + 49 * 2);
    cr_assert_eq(mlp_layer_input(shape, 0), 4);
    cr_assert_eq(mlp_layer_input(shape, 2), 48);
}

Test(mlp, shapes_out_of_bounds_are_not_valid)
{
    struct mlp_shape shape = shapes[0];
    cr_assert(mlp_shape_valid(&shape));
    shape.input = 0;
    cr_assert_not(mlp_shape_valid(&shape));
    shape.input = MLP_MAX_WIDTH + 1;
    cr_assert_not(mlp_shape_valid(&shape));
    shape = shapes[0];
    shape.width[1] = 0;
    cr_assert_not(mlp_shape_valid(&shape));
    shape = shapes[0];
    shape.layer_count = MLP_MAX_LAYERS + 1;
    cr_assert_not(mlp_shape_valid(&shape));
    shape.layer_count = 0;
    cr_assert_not(mlp_shape_valid(&shape));
    shape = shapes[0];
    shape.activation = (enum mlp_activation)2;
    cr_assert_not(mlp_shape_valid(&shape));
}

Test(mlp, forward_of_one_and_of_many_are_the_definition)
{
    for (int s = 0; s < SHAPES; s++) {
        const struct mlp_shape *shape = &shapes[s];
        uint32_t outputs = outputs_of(shape);
        struct rng rng;
        rng_seed(&rng, 5, (uint64_t)s);
        size_t count = mlp_parameter_count(shape);
        float *parameters = malloc(count * sizeof *parameters);
        float *scratch = malloc(mlp_scratch_count(shape) * sizeof *scratch);
        struct batch *batch = batch_new(shape, ROWS);
        cr_assert(parameters && scratch && batch);
        network_fill(&rng, parameters, count, 0.3);
        network_fill(&rng, batch_input(batch), (size_t)ROWS * shape->input, 1.0);
        const float *many = batch_forward(batch, parameters, ROWS);
        struct batch *alone = batch_new(shape, 1);
        cr_assert_not_null(alone);
        float *alone_input = batch_input(alone);
        for (uint32_t i = 0; i < ROWS; i++) {
            const float *input = batch_input(batch) + (size_t)i * shape->input;
            float one[64], again[64];
            mlp_forward_one(shape, parameters, input, one, scratch);
            mlp_forward_one(shape, parameters, input, again, scratch);
            cr_assert_eq(memcmp(one, again, outputs * sizeof *one), 0);
            memcpy(alone_input, input, shape->input * sizeof *input);
            const float *single = batch_forward(alone, parameters, 1);
            cr_assert_eq(memcmp(single, many + i * outputs, outputs * sizeof *one), 0);
            for (uint32_t o = 0; o < outputs; o++) {
                float pick[64] = {0};
                pick[o] = 1.0F;
                double exact = network_loss(shape, parameters, input, pick);
                cr_assert_float_eq(one[o], exact, 2e-5);
                cr_assert_float_eq(many[i * outputs + o], exact, 2e-5);
            }
        }
        batch_free(alone);
        batch_free(batch);
        free(scratch);
        free(parameters);
    }
}

/* Sum of the losses of the first ROWS inputs when loss i = <weights i, output i>. */
static double loss_sum(const struct mlp_shape *shape, const float *parameters, const float *inputs,
                       const float *weights, uint32_t rows)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < rows; i++)
        sum += network_loss(shape, parameters, inputs + (size_t)i * shape->input,
                            weights + (size_t)i * outputs_of(shape));
    return sum;
}

/* The numeric derivative is taken in double; a kink of ReLU within the step would spoil single
 * entries, so a small step is used. */
static void check_gradient(const struct mlp_shape *shape, uint32_t rows, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, 6, seed);
    size_t count = mlp_parameter_count(shape);
    float *parameters = malloc(count * sizeof *parameters);
    float *gradient = calloc(count, sizeof *gradient);
    struct batch *batch = batch_new(shape, ROWS);
    cr_assert(parameters && gradient && batch);
    network_fill(&rng, parameters, count, 0.4);
    network_fill(&rng, batch_input(batch), (size_t)ROWS * shape->input, 1.0);
    (void)batch_forward(batch, parameters, ROWS);
    size_t outputs = outputs_of(shape);
    float *weights = malloc(ROWS * outputs * sizeof *weights);
    cr_assert_not_null(weights);
    network_fill(&rng, weights, ROWS * outputs, 1.0);
    memcpy(batch_output_error(batch), weights, ROWS * outputs * sizeof *weights);
    batch_backward(batch, parameters, rows);
    gradient[0] = 1.5F;
    batch_gradient_add(batch, rows, gradient);
    gradient[0] -= 1.5F;
    for (size_t i = 0; i < count; i++) {
        float kept = parameters[i];
        float high = kept + 1e-4F, low = kept - 1e-4F;
        parameters[i] = high;
        double above = loss_sum(shape, parameters, batch_input(batch), weights, rows);
        parameters[i] = low;
        double below = loss_sum(shape, parameters, batch_input(batch), weights, rows);
        parameters[i] = kept;
        double numeric = (above - below) / ((double)high - (double)low);
        cr_assert_lt(fabs(gradient[i] - numeric), 2e-3 * (1.0 + fabs(numeric)),
                     "parameter %zu: %g, by differences %g", i, (double)gradient[i], numeric);
    }
    free(weights);
    batch_free(batch);
    free(gradient);
    free(parameters);
}

Test(batch, gradient_is_the_derivative_of_the_loss)
{
    check_gradient(&shapes[1], ROWS, 1);
    check_gradient(&shapes[2], ROWS, 2);
    check_gradient(&shapes[3], ROWS, 3);
}

Test(batch, relu_gradient_is_the_derivative_of_the_loss)
{
    const struct mlp_shape small = {
        .input = 4, .layer_count = 3, .width = {24, 20, 2}, .activation = MLP_RELU};
    check_gradient(&small, ROWS, 4);
}

Test(batch, backward_may_take_fewer_rows_than_forward)
{
    check_gradient(&shapes[1], 11, 5);
}
