/* The forward in double gives the bits of the plain loop that its header's order describes, for
 * every width about the vectors' own. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/nn/mlp.h"
#include "envs/rng.h"

enum { WIDEST = 70, PARAMETERS = 3 * WIDEST * (WIDEST + 1) };

static double plain_dot(const float *weight, const double *x, uint32_t count)
{
    if (count == 4)
        return ((double)weight[0] * x[0] + (double)weight[1] * x[1]) +
               ((double)weight[2] * x[2] + (double)weight[3] * x[3]);
    double sum[8] = {0};
    for (uint32_t k = 0; k < count; k++)
        sum[k % 8] += (double)weight[k] * x[k];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static void plain_forward(const struct mlp_shape *shape, const float *parameters,
                          const double *input, double *output)
{
    double x[WIDEST], y[WIDEST];
    memcpy(x, input, shape->input * sizeof *x);
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *weight = parameters + mlp_weight_offset(shape, l);
        for (uint32_t j = 0; j < out; j++) {
            double value =
                parameters[mlp_bias_offset(shape, l) + j] + plain_dot(weight + j * in, x, in);
            bool last = l + 1 == shape->layer_count;
            double active = shape->activation == MLP_TANH ? tanh(value) : value > 0 ? value : 0;
            y[j] = last ? value : active;
        }
        memcpy(x, y, sizeof x);
    }
    memcpy(output, x, shape->width[shape->layer_count - 1] * sizeof *output);
}

/* Numbers of all sizes, zeros of both signs among them. */
static double any(struct rng *rng)
{
    double u = rng_uniform(rng);
    if (u < 0.1)
        return u < 0.05 ? 0.0 : -0.0;
    return (rng_uniform(rng) - 0.5) * exp(8.0 * (rng_uniform(rng) - 0.5));
}

static void expect_same(const struct mlp_shape *shape, struct rng *rng)
{
    static float parameters[PARAMETERS];
    double input[WIDEST], got[WIDEST], wanted[WIDEST];
    uint32_t outputs = shape->width[shape->layer_count - 1];
    size_t count = mlp_parameter_count(shape);
    cr_assert_leq(count, (size_t)PARAMETERS);
    for (size_t i = 0; i < count; i++)
        parameters[i] = (float)any(rng);
    for (uint32_t i = 0; i < shape->input; i++)
        input[i] = any(rng);
    plain_forward(shape, parameters, input, wanted);
    mlp_forward_double(shape, parameters, input, got);
    cr_expect(memcmp(got, wanted, outputs * sizeof *got) == 0, "%u-%u-%u", shape->input,
              shape->width[0], outputs);
}

Test(mlp_double, gives_the_bits_of_the_plain_loop)
{
    struct rng rng;
    rng_seed(&rng, 77, 0);
    for (uint32_t in = 1; in <= 20; in++) {
        for (uint32_t hidden = 1; hidden <= 19; hidden++) {
            for (uint32_t out = 1; out <= 6; out++) {
                struct mlp_shape shape = {.input = in,
                                          .layer_count = 2,
                                          .width = {hidden, out},
                                          .activation = (hidden + out) % 2 ? MLP_RELU : MLP_TANH};
                expect_same(&shape, &rng);
            }
        }
    }
    const struct mlp_shape deep = {
        .input = 4, .layer_count = 4, .width = {64, 33, WIDEST, 2}, .activation = MLP_RELU};
    const struct mlp_shape flat = {.input = WIDEST, .layer_count = 1, .width = {7}};
    expect_same(&deep, &rng);
    expect_same(&flat, &rng);
}

/* Where an output is not finite it is so in both. */
Test(mlp_double, keeps_what_is_not_finite_apart)
{
    const struct mlp_shape shape = {.input = 9, .layer_count = 1, .width = {5}};
    float parameters[50] = {0};
    double input[9] = {INFINITY, 1, 1, 1, 1, 1, 1, 1, 1}, got[5];
    parameters[0] = 1;     /* row 0: infinite */
    parameters[9] = -1;    /* row 1: minus infinite */
    parameters[9 * 3] = 1; /* row 3; row 2 and 4 see 0 * infinity */
    mlp_forward_double(&shape, parameters, input, got);
    cr_expect(isinf(got[0]) && got[0] > 0);
    cr_expect(isinf(got[1]) && got[1] < 0);
    cr_expect(isnan(got[2]) && isnan(got[4]));
    cr_expect(isinf(got[3]) && got[3] > 0);
}
