/* Networks forced into a class stay in it, wherever they are asked. */
#include "algos/nn/lipschitz_class.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/lipschitz.h"
#include "algos/privacy/functions/gaussian_process_norm.h"
#include "tests/unit/nn/network.h"

static struct mlp_shape random_shape(struct rng *rng)
{
    struct mlp_shape shape = {.input = 1 + rng_below(rng, 4),
                              .layer_count = 1 + rng_below(rng, 4),
                              .activation = rng_below(rng, 2) ? MLP_TANH : MLP_RELU};
    for (uint32_t l = 0; l < shape.layer_count; l++)
        shape.width[l] = 1 + rng_below(rng, 20);
    return shape;
}

static float *random_network(const struct mlp_shape *shape, double scale, struct rng *rng)
{
    size_t count = mlp_parameter_count(shape);
    float *parameters = malloc(count * sizeof *parameters);
    cr_assert_not_null(parameters);
    network_fill(rng, parameters, count, scale);
    return parameters;
}

Test(lipschitz_class, projection_holds_and_leaves_members_alone)
{
    static const double scales[] = {0.01, 1.0, 30.0, 1e30}, limits[] = {1e-6, 0.3, 5.0, 1e12};
    struct rng rng;
    rng_seed(&rng, 21, 0);
    for (int round = 0; round < 200; round++) {
        struct mlp_shape shape = random_shape(&rng);
        double limit = limits[round % 4];
        float *parameters = random_network(&shape, scales[round / 4 % 4], &rng);
        size_t bytes = mlp_parameter_count(&shape) * sizeof *parameters;
        float *before = malloc(bytes);
        memcpy(before, parameters, bytes);
        double first = lipschitz_mlp_bound(&shape, parameters);
        double bound = lipschitz_project(&shape, parameters, limit);
        cr_assert(bound >= 0.0 && bound <= limit, "%g above %g", bound, limit);
        cr_assert_eq(lipschitz_mlp_bound(&shape, parameters), bound);
        if (first <= limit)
            cr_assert_arr_eq(parameters, before, bytes);
        else if (isfinite(first))
            cr_assert_geq(bound, 0.999 * limit, "%g is far below %g", bound, limit);
        cr_assert_eq(lipschitz_project(&shape, parameters, limit), bound, "once is enough");
        free(before);
        free(parameters);
    }
}

Test(lipschitz_class, a_rectified_network_keeps_its_proportions)
{
    struct mlp_shape shape = {.input = 2, .layer_count = 3, .width = {16, 16, 3}};
    struct rng rng;
    rng_seed(&rng, 22, 0);
    float *parameters = random_network(&shape, 1.0, &rng), *scratch = malloc(4000);
    float *scaled = malloc(mlp_parameter_count(&shape) * sizeof *scaled);
    memcpy(scaled, parameters, mlp_parameter_count(&shape) * sizeof *scaled);
    double factor =
        lipschitz_project(&shape, scaled, 0.5) / lipschitz_mlp_bound(&shape, parameters);
    for (int i = 0; i < 100; i++) {
        float x[2] = {(float)rng_uniform(&rng), (float)rng_uniform(&rng)}, was[3], is[3];
        mlp_forward_one(&shape, parameters, x, was, scratch);
        mlp_forward_one(&shape, scaled, x, is, scratch);
        for (int a = 0; a < 3; a++)
            cr_assert_float_eq(is[a], factor * was[a], 1e-5);
    }
    free(scaled);
    free(scratch);
    free(parameters);
}

Test(lipschitz_class, no_number_is_refused_untouched)
{
    struct mlp_shape shape = {.input = 2, .layer_count = 1, .width = {2}};
    float parameters[6] = {9, 9, 9, 9, NAN, 0};
    cr_assert(isinf(lipschitz_project(&shape, parameters, 1.0)));
    cr_assert_eq(parameters[0], 9.0F);
    cr_assert(isinf(lipschitz_class_error_bound(&shape, parameters)));
    parameters[4] = 0;
    parameters[1] = INFINITY;
    cr_assert(isinf(lipschitz_project(&shape, parameters, 1.0)));
    struct lipschitz_class bad = {NAN, 1}, worse = {1, 0}, good = {1, 1}, zero = {0, 1};
    cr_assert(lipschitz_class_problem(&bad) && lipschitz_class_problem(&worse));
    cr_assert(lipschitz_class_problem(&zero));
    cr_assert_null(lipschitz_class_problem(&good));
}

Test(lipschitz_class, clamps)
{
    double x[6] = {-0.5, -0.0, 0.25, 1.5, NAN, INFINITY};
    static const double inside[6] = {0, 0, 0.25, 1, 0, 1};
    lipschitz_clamp_input(x, x, 6);
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(x[i], inside[i]);
        cr_assert(!signbit(x[i]), "one zero, so that one point has one name");
    }
    double v[6] = {-3, 0.05, 0.1, 3, NAN, -INFINITY};
    static const double held[6] = {-0.1, 0.05, 0.1, 0.1, 0, -0.1};
    lipschitz_clamp_output(v, 6, 0.1);
    cr_assert_arr_eq(v, held, sizeof held);
}

Test(lipschitz_class, released_function_is_in_the_class_everywhere)
{
    struct lipschitz_class class = {.lipschitz = 2.0, .value_limit = 0.75};
    struct rng rng;
    rng_seed(&rng, 23, 0);
    double fastest = 0, most = 0;
    for (int round = 0; round < 60; round++) {
        struct mlp_shape shape = random_shape(&rng);
        uint32_t outputs = shape.width[shape.layer_count - 1];
        float *parameters = random_network(&shape, 2.0, &rng);
        double *scratch = malloc(lipschitz_class_scratch_count(&shape) * sizeof *scratch);
        cr_assert_geq(lipschitz_project(&shape, parameters, class.lipschitz), 0.0);
        for (int pair = 0; pair < 300; pair++) {
            double a[4], b[4], u[20], v[20], apart = 0, moved = 0;
            for (uint32_t i = 0; i < shape.input; i++) {
                a[i] = 1.4 * rng_uniform(&rng) - 0.2; /* also outside of the cube */
                b[i] = a[i] + 0.1 * rng_normal(&rng);
                apart += (a[i] - b[i]) * (a[i] - b[i]);
            }
            lipschitz_class_evaluate(&class, &shape, parameters, a, u, scratch);
            lipschitz_class_evaluate(&class, &shape, parameters, b, v, scratch);
            for (uint32_t o = 0; o < outputs; o++) {
                moved += (u[o] - v[o]) * (u[o] - v[o]);
                most = fmax(most, fabs(u[o]));
            }
            fastest = fmax(fastest, sqrt(moved / apart));
        }
        free(scratch);
        free(parameters);
    }
    cr_assert(fastest <= class.lipschitz && fastest > 1.0, "%g", fastest);
    cr_assert_eq(most, class.value_limit, "some output was clamped");
}

/* The network in long double, as it is written. */
static void forward_long(const struct mlp_shape *shape, const float *parameters, const double *x,
                         long double *out)
{
    long double half[2][32];
    for (uint32_t i = 0; i < shape->input; i++)
        half[0][i] = x[i];
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l);
        long double *from = half[l & 1], *to = half[~l & 1];
        for (uint32_t j = 0; j < shape->width[l]; j++) {
            to[j] = parameters[mlp_bias_offset(shape, l) + j];
            for (uint32_t k = 0; k < in; k++)
                to[j] += from[k] * parameters[mlp_weight_offset(shape, l) + (size_t)j * in + k];
            if (l + 1 < shape->layer_count)
                to[j] = shape->activation == MLP_TANH ? tanhl(to[j]) : fmaxl(to[j], 0.0L);
        }
    }
    memcpy(out, half[shape->layer_count & 1],
           shape->width[shape->layer_count - 1] * sizeof(long double));
}

Test(lipschitz_class, evaluation_errs_less_than_its_bound)
{
    struct lipschitz_class class = {.lipschitz = 1e12, .value_limit = 1e12};
    struct rng rng;
    rng_seed(&rng, 24, 0);
    for (int round = 0; round < 100; round++) {
        struct mlp_shape shape = random_shape(&rng);
        float *parameters = random_network(&shape, round % 2 ? 1.0 : 20.0, &rng);
        double *scratch = malloc(lipschitz_class_scratch_count(&shape) * sizeof *scratch);
        double bound = lipschitz_class_error_bound(&shape, parameters), worst = 0;
        for (int i = 0; i < 50; i++) {
            double x[4], out[20], apart = 0;
            long double exact[20];
            for (uint32_t j = 0; j < shape.input; j++)
                x[j] = rng_uniform(&rng);
            lipschitz_class_evaluate(&class, &shape, parameters, x, out, scratch);
            forward_long(&shape, parameters, x, exact);
            for (uint32_t o = 0; o < shape.width[shape.layer_count - 1]; o++)
                apart += (double)((out[o] - exact[o]) * (out[o] - exact[o]));
            worst = fmax(worst, sqrt(apart));
        }
        cr_assert(worst <= bound && bound < 1.0, "%g above %g", worst, bound);
        free(scratch);
        free(parameters);
    }
}

/* What the guarantee of a Gaussian-process release rests on: whatever two networks a shard might
 * hold, once they are in the class their difference is no larger than the class is wide. */
Test(lipschitz_class, two_members_differ_by_less_than_the_class_is_wide)
{
    enum { GRID = 513, ACTIONS = 3 };
    struct lipschitz_class class = {.lipschitz = 4.0, .value_limit = 0.5};
    double beta = class.lipschitz / class.value_limit / sqrt(ACTIONS), widest = 0;
    double limit = gaussian_process_class_norm_squared(
        beta, sqrt(ACTIONS) * 2.0 * class.value_limit, 2.0 * class.lipschitz);
    struct rng rng;
    rng_seed(&rng, 25, 0);
    static double x[GRID], q[2][ACTIONS][GRID], f[GRID];
    for (int round = 0; round < 60; round++) {
        for (int world = 0; world < 2; world++) {
            struct mlp_shape shape = random_shape(&rng);
            shape.input = 1;
            shape.width[shape.layer_count - 1] = ACTIONS;
            float *parameters = random_network(&shape, world ? 3.0 : 0.5, &rng);
            double *scratch = malloc(lipschitz_class_scratch_count(&shape) * sizeof *scratch);
            cr_assert_geq(lipschitz_project(&shape, parameters, class.lipschitz), 0.0);
            for (int i = 0; i < GRID; i++) {
                double out[ACTIONS];
                x[i] = (double)i / (GRID - 1);
                lipschitz_class_evaluate(&class, &shape, parameters, &x[i], out, scratch);
                for (int a = 0; a < ACTIONS; a++)
                    q[world][a][i] = out[a];
            }
            free(scratch);
            free(parameters);
        }
        double norm = 0;
        for (int a = 0; a < ACTIONS; a++) {
            for (int i = 0; i < GRID; i++)
                f[i] = q[0][a][i] - q[1][a][i];
            norm += gaussian_process_norm_squared(beta, x, f, GRID);
        }
        cr_assert_leq(norm, limit);
        widest = fmax(widest, norm);
    }
    cr_assert_gt(widest, 0.05 * limit, "%g of %g", widest, limit);
}
