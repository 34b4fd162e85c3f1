/* The certificate must lie above what any power iteration finds, and not far above. */
#include "algos/nn/lipschitz.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "envs/rng.h"

/* A lower bound of the spectral norm: ||W x|| / ||x|| after many steps of x <- W' W x. */
static double power_iteration(const float *w, size_t rows, size_t columns, struct rng *rng)
{
    double *x = malloc(columns * sizeof *x), *y = malloc(rows * sizeof *y), norm = 0;
    cr_assert(x && y);
    for (size_t j = 0; j < columns; j++)
        x[j] = rng_normal(rng);
    for (int step = 0; step < 300; step++) {
        double length = 0, image = 0;
        for (size_t j = 0; j < columns; j++)
            length += x[j] * x[j];
        for (size_t j = 0; j < columns; j++)
            x[j] /= sqrt(length);
        for (size_t i = 0; i < rows; i++) {
            y[i] = 0;
            for (size_t j = 0; j < columns; j++)
                y[i] += (double)w[i * columns + j] * x[j];
            image += y[i] * y[i];
        }
        norm = sqrt(image);
        for (size_t j = 0; j < columns; j++) {
            x[j] = 0;
            for (size_t i = 0; i < rows; i++)
                x[j] += (double)w[i * columns + j] * y[i];
        }
    }
    free(x);
    free(y);
    return norm;
}

Test(lipschitz, spectral_bound_is_above_and_close)
{
    static const size_t sizes[][2] = {{1, 1},  {1, 7},   {7, 1},    {4, 64},
                                      {64, 4}, {64, 64}, {128, 96}, {256, 256}};
    struct rng rng;
    rng_seed(&rng, 11, 0);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t rows = sizes[s][0], columns = sizes[s][1];
        float *w = malloc(rows * columns * sizeof *w);
        for (size_t i = 0; i < rows * columns; i++)
            w[i] = (float)rng_normal(&rng);
        double lower = power_iteration(w, rows, columns, &rng);
        double upper = lipschitz_spectral_norm_bound(w, rows, columns);
        cr_expect_geq(upper, lower, "%zu x %zu", rows, columns);
        cr_expect_leq(upper, 1.03 * lower, "%zu x %zu: %g for %g", rows, columns, upper, lower);
        free(w);
    }
}

Test(lipschitz, known_norms)
{
    float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, rank_one[6] = {3, 6, 0, 4, 8, 0};
    double bound = lipschitz_spectral_norm_bound(identity, 3, 3);
    cr_assert(bound >= 1.0 && bound < 1.003, "%g", bound);
    bound = lipschitz_spectral_norm_bound(rank_one, 2, 3); /* |(3,4)| |(1,2,0)| */
    cr_assert(bound >= 5.0 * sqrt(5.0) && bound < 5.0 * sqrt(5.0) * (1.0 + 1e-9), "%.17g", bound);
    float zero[4] = {0};
    cr_assert_eq(lipschitz_spectral_norm_bound(zero, 2, 2), 0.0);
}

Test(lipschitz, extreme_entries)
{
    float w[4] = {1e30f, 0, 0, 1e-30f};
    double bound = lipschitz_spectral_norm_bound(w, 2, 2);
    cr_assert(bound >= (double)1e30f && bound < 1.001e30);
    w[0] = w[3] = 1e-38f;
    bound = lipschitz_spectral_norm_bound(w, 2, 2);
    cr_assert(bound >= (double)1e-38f && bound < 1.01e-38);
    w[1] = NAN;
    cr_assert(isinf(lipschitz_spectral_norm_bound(w, 2, 2)));
    w[1] = -INFINITY;
    cr_assert(isinf(lipschitz_spectral_norm_bound(w, 2, 2)));
}

Test(lipschitz, network_never_moves_faster_than_its_bound)
{
    struct mlp_shape shape = {.input = 4, .layer_count = 3, .width = {32, 16, 3}};
    struct rng rng;
    rng_seed(&rng, 12, 0);
    for (int activation = 0; activation < 2; activation++) {
        shape.activation = activation ? MLP_TANH : MLP_RELU;
        size_t count = mlp_parameter_count(&shape);
        float *parameters = malloc(count * sizeof *parameters);
        float *scratch = malloc(mlp_scratch_count(&shape) * sizeof *scratch);
        for (size_t i = 0; i < count; i++)
            parameters[i] = 0.5F * (float)rng_normal(&rng);
        double bound = lipschitz_mlp_bound(&shape, parameters), fastest = 0;
        for (int pair = 0; pair < 3000; pair++) {
            float a[4], b[4], u[3], v[3];
            double apart = 0, moved = 0;
            for (int i = 0; i < 4; i++) {
                a[i] = (float)rng_normal(&rng);
                b[i] = a[i] + 0.3F * (float)rng_normal(&rng);
                apart += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
            }
            mlp_forward_one(&shape, parameters, a, u, scratch);
            mlp_forward_one(&shape, parameters, b, v, scratch);
            for (int i = 0; i < 3; i++)
                moved += ((double)u[i] - v[i]) * ((double)u[i] - v[i]);
            fastest = fmax(fastest, sqrt(moved / apart));
        }
        cr_expect(fastest > 0.0 && fastest <= bound, "%g above %g", fastest, bound);
        parameters[count - 1] = NAN; /* a bias: it moves nothing */
        cr_expect_eq(lipschitz_mlp_bound(&shape, parameters), bound);
        parameters[0] = NAN;
        cr_expect(isinf(lipschitz_mlp_bound(&shape, parameters)));
        free(parameters);
        free(scratch);
    }
}

enum { KINDS = 6 };

/* Matrices of many characters: plain, of one direction, of two near-equal directions, nearly
 * orthogonal, sparse, with one great entry. */
static void fill_kind(float *w, size_t rows, size_t columns, int kind, struct rng *rng)
{
    double left[64], right[64];
    for (size_t i = 0; i < 64; i++) {
        left[i] = rng_normal(rng);
        right[i] = rng_normal(rng);
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            double value = rng_normal(rng);
            if (kind == 1)
                value = left[i] * right[j];
            else if (kind == 2)
                value = left[i] * right[j] + left[63 - i] * right[63 - j] + 1e-3 * value;
            else if (kind == 3)
                value = (i == j) + 1e-4 * value;
            else if (kind == 4)
                value = fabs(value) > 1.5 ? value : 0.0;
            else if (kind == 5)
                value = i == 0 && j == columns - 1 ? 1e6 : value;
            w[i * columns + j] = (float)value;
        }
    }
}

Test(lipschitz, never_below_power_iteration)
{
    static const float scales[] = {1.0F, 1e-30F, 1e30F};
    struct rng rng;
    rng_seed(&rng, 13, 0);
    for (int round = 0; round < 300; round++) {
        float w[40 * 40];
        size_t rows = 1 + rng_below(&rng, 40), columns = 1 + rng_below(&rng, 40);
        int kind = round % KINDS;
        float scale = scales[round % 7 % 3];
        fill_kind(w, rows, columns, kind, &rng);
        for (size_t i = 0; i < rows * columns; i++)
            w[i] *= scale;
        double lower = power_iteration(w, rows, columns, &rng);
        double upper = lipschitz_spectral_norm_bound(w, rows, columns);
        cr_expect_geq(upper, lower, "kind %d, %zu x %zu: %.17g", kind, rows, columns, lower);
        cr_expect_leq(upper, 1.01 * lower, "kind %d, %zu x %zu: %g for %g", kind, rows, columns,
                      upper, lower);
    }
}

Test(lipschitz, orthogonal_and_single_directions_are_tight)
{
    /* a rotation: every singular value is 1, the worst case of Gram powers; 1- and infinity-norm do
     * not help either. 2^(1/1024) is what eight squarings leave. */
    float rotation[4] = {0.6F, -0.8F, 0.8F, 0.6F}, line[3] = {1, 2, 2}, hadamard[64 * 64];
    double bound = lipschitz_spectral_norm_bound(rotation, 2, 2);
    cr_expect(bound >= 1.0 - 1e-7 && bound <= 1.0007 * (1.0 + 1e-7), "%.17g", bound);
    bound = lipschitz_spectral_norm_bound(line, 1, 3);
    cr_expect(bound >= 3.0 && bound <= 3.0 * (1.0 + 1e-12), "%.17g", bound);
    bound = lipschitz_spectral_norm_bound(line, 3, 1);
    cr_expect(bound >= 3.0 && bound <= 3.0 * (1.0 + 1e-12), "%.17g", bound);
    for (unsigned i = 0; i < 64; i++)
        for (unsigned j = 0; j < 64; j++)
            hadamard[64 * i + j] = __builtin_popcount(i & j) % 2 ? -1.0F : 1.0F;
    bound = lipschitz_spectral_norm_bound(hadamard, 64, 64);
    cr_expect(bound >= 8.0 && bound <= 8.0 * 1.0042, "%.17g", bound);
}

Test(lipschitz, tiny_layers_do_not_underflow_to_a_constant)
{
    struct mlp_shape shape = {.input = 1, .layer_count = 8, .width = {1, 1, 1, 1, 1, 1, 1, 1}};
    float parameters[16] = {0};
    for (int l = 0; l < 8; l++)
        parameters[2 * l] = 1e-45F;
    parameters[0] = 3e38F;
    double bound = lipschitz_mlp_bound(&shape, parameters);
    cr_expect(bound > 0.0 && bound < 1e-250, "%g", bound);
    parameters[6] = 0.0F; /* one layer that passes nothing on */
    cr_expect_eq(lipschitz_mlp_bound(&shape, parameters), 0.0);
}
