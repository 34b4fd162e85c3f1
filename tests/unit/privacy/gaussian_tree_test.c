/* Functions released coordinate by coordinate: what is told is the function plus the noise of its
 * coordinates; the noise is exact, independent and always the same; and neighbours are as far apart
 * as the price says, rounding included. */
#include "algos/privacy/functions/gaussian_tree.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_grid.h"
#include "algos/privacy/functions/gaussian_process_plan.h"
#include "algos/privacy/noise/noise_lattice.h"
#include "tests/unit/privacy/golden.h"

#define LIMIT 1.5

static const struct gaussian_path_law plain = {
    .beta = 2.0, .sigma = 0.5, .bits = 10, .dimensions = 1};
static const uint8_t some_key[GAUSSIAN_PATH_KEY_BYTES] = {3, 1, 4};

static struct gaussian_tree *tree_of(const struct gaussian_path_law *law, unsigned number)
{
    uint8_t key[GAUSSIAN_PATH_KEY_BYTES];
    struct noise_source *noise = golden_noise(number);
    noise_bytes(noise, key, sizeof key);
    noise_source_free(noise);
    const struct gaussian_lattice lattice = gaussian_tree_lattice(law, 2, 0.25, LIMIT);
    struct gaussian_tree *tree = gaussian_tree_new(law, &lattice, key);
    cr_assert_not_null(tree);
    return tree;
}

/* Two functions; CONTEXT: the number of bits. */
static void waves(const void *context, uint32_t index, double *values)
{
    double x = ldexp(index, -(int)*(const uint32_t *)context);
    values[0] = sin(5.0 * x) - 0.25;
    values[1] = fabs(x - 0.3);
}

static void nothing(const void *context, uint32_t index, double *values)
{
    (void)context;
    (void)index;
    values[0] = values[1] = 0.0;
}

static uint32_t place_of(const struct gaussian_path_node *node, uint32_t bits)
{
    if (node->level < 0)
        return node->index << bits;
    return (2 * node->index + 1) << (bits - 1 - (uint32_t)node->level);
}

Test(gaussian_tree, tells_the_function_plus_the_noise_of_its_coordinates)
{
    struct gaussian_tree *tree = tree_of(&plain, 700);
    const struct gaussian_lattice lattice = gaussian_tree_lattice(&plain, 2, 0.25, LIMIT);
    struct gaussian_path_axis axis;
    gaussian_path_axis_init(&axis, plain.beta, plain.bits);
    for (uint32_t index = 0; index <= 1024; index++) {
        struct gaussian_path_node nodes[GAUSSIAN_PATH_MAX_NODES];
        size_t count = gaussian_path_axis_nodes(&axis, index, nodes);
        double told[2], f[2];
        gaussian_tree_release(tree, 2, index, waves, &plain.bits, LIMIT, told);
        waves(&plain.bits, index, f);
        for (uint32_t a = 0; a < 2; a++) {
            long double noise = 0.0L, rounded = 0.0L;
            for (size_t k = 0; k < count; k++) {
                noise += nodes[k].coefficient *
                         (long double)gaussian_tree_noise(tree, a, place_of(&nodes[k], plain.bits));
                rounded += nodes[k].coefficient;
            }
            double slack = (double)(0.5L * lattice.step * rounded) +
                           0.5 * plain.sigma * GAUSSIAN_GRID_STEP + 1e-15;
            cr_assert_float_eq(told[a], f[a] + (double)(noise * lattice.step), slack, "%u %u",
                               index, a);
        }
    }
    gaussian_tree_free(tree);
}

/* The bits of a key, by an independent program: released functions hang on them. */
Test(gaussian_tree, golden_noise_from_a_key)
{
    json_t *root = golden_load("gaussian_tree.json"), *item, *entry;
    size_t i, j;
    json_array_foreach(json_object_get(root, "cases"), i, item)
    {
        const struct gaussian_path_law law = {
            .beta = 1.0, .sigma = 1.0, .bits = 24, .dimensions = 1};
        const struct gaussian_lattice lattice = {
            1.0, (uint64_t)json_integer_value(json_object_get(item, "scale"))};
        uint8_t key[GAUSSIAN_PATH_KEY_BYTES];
        for (size_t k = 0; k < sizeof key; k++)
            key[k] = (uint8_t)json_integer_value(json_array_get(json_object_get(item, "key"), k));
        struct gaussian_tree *tree = gaussian_tree_new(&law, &lattice, key);
        json_array_foreach(json_object_get(item, "noises"), j, entry)
        {
            int64_t noise = gaussian_tree_noise(
                tree, (uint32_t)json_integer_value(json_object_get(entry, "number")),
                (uint32_t)json_integer_value(json_object_get(entry, "point")));
            cr_expect_eq(noise, json_integer_value(json_object_get(entry, "noise")),
                         "case %zu, %zu", i, j);
        }
        cr_expect_eq(j, 40);
        gaussian_tree_free(tree);
    }
    cr_expect_eq(i, 3);
    json_decref(root);
}

static double normal_cdf(double x)
{
    return golden_normal_cdf(x);
}

Test(gaussian_tree, noise_of_a_coordinate_is_normal)
{
    enum { N = 30000 };
    const struct gaussian_path_law law = {.beta = 2.0, .sigma = 0.5, .bits = 14, .dimensions = 1};
    struct gaussian_tree *tree = tree_of(&law, 701);
    const struct gaussian_lattice lattice = gaussian_tree_lattice(&law, 2, 0.25, LIMIT);
    double *sample = malloc(N * sizeof *sample), odd = 0.0, together = 0.0, paths = 0.0;
    double scale = ldexp((double)lattice.scale, -NOISE_LATTICE_FRACTION), before = 0.0;
    for (uint32_t i = 0; i < N; i++) {
        int64_t noise = gaussian_tree_noise(tree, i % 2, i / 2);
        sample[i] = (double)noise / scale;
        odd += (double)(noise & 1);
        if (i % 2)
            paths += sample[i] * before;
        else if (i > 1)
            together += sample[i] * sample[i - 2];
        before = sample[i];
    }
    cr_expect_lt(golden_coins(odd, N, 0.5), Z_LIMIT, "low bits are even coins");
    cr_expect_lt(golden_z(paths, 0.0, sqrt(N / 2)), Z_LIMIT, "paths are independent");
    cr_expect_lt(golden_z(together, 0.0, sqrt(N / 2)), Z_LIMIT, "coordinates are independent");
    double distance = golden_ks(sample, N, normal_cdf);
    cr_expect_lt(distance, KS_LIMIT, "%g", distance);
    free(sample);
    gaussian_tree_free(tree);
}

/* Of the values themselves: the kernel's covariances. */
Test(gaussian_tree, paths_have_the_covariance_of_the_kernel)
{
    enum { KEYS = 20000, PLACES = 5 };
    static const uint32_t places[PLACES] = {0, 301, 302, 768, 1024};
    double sum[PLACES][PLACES] = {{0}};
    const struct gaussian_lattice lattice = gaussian_tree_lattice(&plain, 1, 0.25, LIMIT);
    struct noise_source *noise = golden_noise(702);
    for (int i = 0; i < KEYS; i++) {
        uint8_t key[GAUSSIAN_PATH_KEY_BYTES];
        double value[PLACES];
        noise_bytes(noise, key, sizeof key);
        struct gaussian_tree *tree = gaussian_tree_new(&plain, &lattice, key);
        for (int p = 0; p < PLACES; p++)
            gaussian_tree_release(tree, 1, places[p], nothing, NULL, LIMIT, &value[p]);
        for (int p = 0; p < PLACES; p++)
            for (int q = 0; q < PLACES; q++)
                sum[p][q] += value[p] * value[q] / (plain.sigma * plain.sigma);
        gaussian_tree_free(tree);
    }
    for (int p = 0; p < PLACES; p++)
        for (int q = 0; q <= p; q++) {
            double apart = ldexp(fabs((double)places[p] - places[q]), -10);
            double kernel = exp(-plain.beta * apart);
            double spread = sqrt(KEYS * (1.0 + kernel * kernel));
            cr_expect_lt(golden_z(sum[p][q], KEYS * kernel, spread), Z_LIMIT, "%d %d: %g for %g", p,
                         q, sum[p][q] / KEYS, kernel);
        }
    noise_source_free(noise);
}

/* A function's coordinates in steps of the lattice, all of them. */
static void units_of(const struct gaussian_path_law *law, const struct gaussian_lattice *lattice,
                     const double *f, int64_t *units)
{
    uint32_t size = UINT32_C(1) << law->bits;
    struct gaussian_path_axis axis;
    gaussian_path_axis_init(&axis, law->beta, law->bits);
    units[0] = llrintl(f[0] / lattice->step);
    units[size] = llrintl((f[size] - axis.end_weight * f[0]) / axis.end_spread / lattice->step);
    for (uint32_t k = 0, half = size / 2; half > 0; k++, half /= 2)
        for (uint32_t mid = half; mid < size; mid += 2 * half)
            units[mid] =
                llrintl((f[mid] - axis.weight[k] * ((long double)f[mid - half] + f[mid + half])) /
                        axis.spread[k] / lattice->step);
}

/* Neighbours in the class, as far apart as it allows and with rounding errors at every point: the
 * whole numbers that get noise are at most S/sigma deviations of it apart. */
Test(gaussian_tree, neighbours_are_as_far_apart_as_the_price_says)
{
    enum { BITS = 12, SIZE = 1 << BITS, SHARDS = 7 };
    struct gaussian_process_plan plan = {.value_limit = 1.0,
                                         .lipschitz = 3.0,
                                         .shards = SHARDS,
                                         .actions = 1,
                                         .bits = BITS,
                                         .evaluation_error = 1e-15,
                                         .epsilon = 1.0,
                                         .delta = 1e-6};
    cr_assert_null(gaussian_process_plan_complete(&plan));
    const struct gaussian_path_law law = {
        .beta = plan.beta, .sigma = plan.sigma, .bits = BITS, .dimensions = 1};
    const struct gaussian_lattice lattice =
        gaussian_tree_lattice(&law, 1, plan.sensitivity, plan.value_limit);
    double *f = malloc(2 * (SIZE + 1) * sizeof *f), *g = f + SIZE + 1;
    int64_t *units = malloc(2 * (SIZE + 1) * sizeof *units), *others = units + SIZE + 1;
    double scale = ldexp((double)lattice.scale, -NOISE_LATTICE_FRACTION), nearest = 0.0;
    for (int round = 0; round < 4; round++) {
        for (uint32_t i = 0; i <= SIZE; i++) {
            double x = ldexp(i, -BITS), tooth = fabs(fmod(x * (SIZE >> round), 2.0) - 1.0);
            double zig_zag = plan.value_limit - plan.lipschitz * tooth / (SIZE >> round);
            f[i] = zig_zag / SHARDS + (i % 3) * 4e-17;
            g[i] = -zig_zag / SHARDS - (i % 5) * 2e-17;
        }
        units_of(&law, &lattice, f, units);
        units_of(&law, &lattice, g, others);
        long double square = 0.0L;
        for (uint32_t i = 0; i <= SIZE; i++) {
            long double apart = (long double)units[i] - (long double)others[i];
            square += apart * apart;
        }
        double mu = (double)(sqrtl(square) / scale);
        cr_expect_leq(mu, plan.sensitivity / plan.sigma, "%d: %.17g", round, mu);
        nearest = fmax(nearest, mu * plan.sigma / plan.sensitivity);
    }
    cr_expect_gt(nearest, 0.9, "the bound is nearly attained: %g", nearest);
    free(f);
    free(units);
}

enum { POINTS = 256, THREADS = 4 };

struct walk {
    const struct gaussian_tree *tree;
    uint32_t stride; /* odd: every point once, in an order of its own */
    double value[2 * POINTS];
};

static void *walk(void *context)
{
    struct walk *w = context;
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t at = i * w->stride % POINTS;
        gaussian_tree_release(w->tree, 2, at << 2, waves, &plain.bits, LIMIT, &w->value[2 * at]);
    }
    return NULL;
}

Test(gaussian_tree, one_function_in_any_order_on_any_thread_after_any_restart)
{
    static const uint32_t strides[THREADS] = {1, 3, 77, 255};
    static struct walk walks[THREADS];
    struct gaussian_tree *tree = tree_of(&plain, 703), *restarted = tree_of(&plain, 703);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        walks[t].tree = t == THREADS - 1 ? restarted : tree;
        walks[t].stride = strides[t];
        cr_assert_eq(pthread_create(&threads[t], NULL, walk, &walks[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 1; t < THREADS; t++)
        cr_assert_arr_eq(walks[t].value, walks[0].value, sizeof walks[0].value);
    cr_assert_neq(walks[0].value[0], walks[0].value[2]);
    gaussian_tree_free(tree);
    gaussian_tree_free(restarted);
    gaussian_tree_free(NULL);
}

Test(gaussian_tree, answers_lie_on_the_public_grid_and_are_clipped)
{
    struct gaussian_tree *tree = tree_of(&plain, 704);
    double step = plain.sigma * GAUSSIAN_GRID_STEP, value[2];
    for (uint32_t i = 0; i <= 1024; i += 3) {
        gaussian_tree_release(tree, 2, i, waves, &plain.bits, LIMIT, value);
        cr_assert_eq(value[0] / step, rint(value[0] / step));
        gaussian_tree_release(tree, 2, i, waves, &plain.bits, 1e-3, value);
        cr_assert_leq(fabs(value[0]), 1e-3 + 10.0 * plain.sigma);
    }
    gaussian_tree_free(tree);
}

Test(gaussian_tree, what_has_no_lattice_is_refused)
{
    struct gaussian_path_law law = {.beta = 1.0, .sigma = 1.0, .bits = 24, .dimensions = 1};
    cr_expect(gaussian_tree_fits(&law, 16, 1e-4));
    cr_expect(!gaussian_tree_fits(&law, 16, 1e-6));
    law.bits = 8;
    cr_expect(gaussian_tree_fits(&law, 16, 1e-6));
    const struct gaussian_lattice good = gaussian_tree_lattice(&law, 1, 0.1, 1.0);
    const struct gaussian_lattice bad[] = {{0.0, 5},           {-0.5, 5},     {0.3, 5},
                                           {NAN, 5},           {INFINITY, 5}, {0.25, 0},
                                           {0.25, UINT64_MAX}, {0x1p-80, 5}};
    cr_expect(gaussian_tree_takes(&law, &good, 1.0));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect(!gaussian_tree_takes(&law, &bad[i], 1.0), "%zu", i);
    struct gaussian_tree *tree = gaussian_tree_new(&law, &good, some_key);
    cr_expect_not_null(tree);
    gaussian_tree_free(tree);
}
