/* The stateless path: what its definition says, to the last digits, and that it is one function. */
#include "algos/privacy/functions/gaussian_path.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_grid.h"
#include "algos/privacy/noise/chacha20_blocks.h"
#include "envs/rng.h"
#include "tests/unit/privacy/golden.h"

static double listed_normal(const json_t *normals, const char *name)
{
    return golden_number(normals, name);
}

/* "e:0" or "0:4": the end, or level and numerator over 2^bits of the midpoint. */
static void node_name(const struct gaussian_path_node *node, uint32_t bits, char name[24])
{
    if (node->level < 0)
        snprintf(name, 24, "e:%u", node->index);
    else
        snprintf(name, 24, "%d:%u", node->level,
                 (2 * node->index + 1) << (bits - 1 - (uint32_t)node->level));
}

Test(gaussian_path, golden_values_from_given_normals)
{
    json_t *root = golden_load("gaussian_process.json"), *item;
    const json_t *path = json_object_get(root, "dyadic_path");
    struct gaussian_path_axis axis;
    gaussian_path_axis_init(&axis, golden_number(path, "beta"),
                            (uint32_t)golden_number(path, "bits"));
    size_t i;
    json_array_foreach(json_object_get(path, "values_at_i_over_8"), i, item)
    {
        struct gaussian_path_node nodes[GAUSSIAN_PATH_MAX_NODES];
        size_t count = gaussian_path_axis_nodes(&axis, (uint32_t)i, nodes);
        long double sum = 0;
        for (size_t k = 0; k < count; k++) {
            char name[24];
            node_name(&nodes[k], axis.bits, name);
            sum += nodes[k].coefficient * listed_normal(json_object_get(path, "normals"), name);
        }
        cr_expect_float_eq(golden_number(path, "sigma") * sum, json_number_value(item), 1e-15);
    }
    cr_assert_eq(i, 9);
    json_decref(root);
}

Test(gaussian_path, golden_sheet_from_given_normals)
{
    json_t *root = golden_load("gaussian_process.json"), *item;
    const json_t *sheet = json_object_get(root, "dyadic_sheet_2d");
    struct gaussian_path_axis axis;
    gaussian_path_axis_init(&axis, golden_number(sheet, "beta"),
                            (uint32_t)golden_number(sheet, "bits"));
    size_t i;
    json_array_foreach(json_object_get(sheet, "points"), i, item)
    {
        struct gaussian_path_node a[GAUSSIAN_PATH_MAX_NODES], b[GAUSSIAN_PATH_MAX_NODES];
        uint32_t first = (uint32_t)json_integer_value(json_array_get(item, 0));
        uint32_t second = (uint32_t)json_integer_value(json_array_get(item, 1));
        size_t rows = gaussian_path_axis_nodes(&axis, first, a);
        size_t columns = gaussian_path_axis_nodes(&axis, second, b);
        long double sum = 0;
        for (size_t k = 0; k < rows * columns; k++) {
            char left[24], right[24], name[52];
            node_name(&a[k / columns], axis.bits, left);
            node_name(&b[k % columns], axis.bits, right);
            snprintf(name, sizeof name, "%s,%s", left, right);
            sum += a[k / columns].coefficient * b[k % columns].coefficient *
                   listed_normal(json_object_get(sheet, "normals"), name);
        }
        double value = json_number_value(json_array_get(json_object_get(sheet, "values"), i));
        cr_expect_float_eq(golden_number(sheet, "sigma") * sum, value, 2e-15);
    }
    cr_assert_eq(i, 5);
    json_decref(root);
}

Test(gaussian_path, golden_values_from_a_key)
{
    json_t *root = golden_load("gaussian_path.json"), *item, *entry;
    size_t i, j;
    json_array_foreach(json_object_get(root, "cases"), i, item)
    {
        struct gaussian_path_law law = {.beta = golden_number(item, "beta"),
                                        .sigma = golden_number(item, "sigma"),
                                        .bits = (uint32_t)golden_number(item, "bits"),
                                        .dimensions = (uint32_t)golden_number(item, "dimensions")};
        uint8_t key[GAUSSIAN_PATH_KEY_BYTES];
        for (size_t k = 0; k < sizeof key; k++)
            key[k] = (uint8_t)json_integer_value(json_array_get(json_object_get(item, "key"), k));
        cr_assert_null(gaussian_path_problem(&law));
        struct gaussian_path *path = gaussian_path_new(&law, key);
        cr_assert_not_null(path);
        json_array_foreach(json_object_get(item, "values"), j, entry)
        {
            uint32_t index[GAUSSIAN_PATH_MAX_DIMENSIONS];
            for (uint32_t d = 0; d < law.dimensions; d++)
                index[d] = (uint32_t)json_integer_value(
                    json_array_get(json_object_get(entry, "point"), d));
            uint32_t number = (uint32_t)golden_number(entry, "number");
            long double value = gaussian_path_value(path, number, index);
            long double exact =
                (long double)golden_number(entry, "value") + golden_number(entry, "rest");
            cr_expect_leq(fabsl(value - exact), 0x1p-58L * law.sigma, "case %zu, %zu: off by %Lg",
                          i, j, value - exact);
        }
        gaussian_path_free(path);
    }
    cr_assert_geq(i, 6);
    json_decref(root);
}

static const struct gaussian_path_law plain = {
    .beta = 2.0, .sigma = 0.5, .bits = 20, .dimensions = 1};
static const uint8_t some_key[GAUSSIAN_PATH_KEY_BYTES] = {1, 2, 3};

Test(gaussian_path, more_bits_refine_the_same_path)
{
    struct gaussian_path_law coarse = plain, fine = plain;
    coarse.bits = 7;
    fine.bits = 24;
    struct gaussian_path *few = gaussian_path_new(&coarse, some_key);
    struct gaussian_path *many = gaussian_path_new(&fine, some_key);
    for (uint32_t i = 0; i <= 128; i++) {
        uint32_t there = i << 17;
        cr_assert_eq(gaussian_path_value(few, 3, &i), gaussian_path_value(many, 3, &there));
    }
    gaussian_path_free(few);
    gaussian_path_free(many);
}

enum { POINTS = 512, THREADS = 4 };

/* What path NUMBER, at most 4, tells. */
static double release_one(const struct gaussian_path *path, uint32_t number, const uint32_t *index,
                          double mean, double limit)
{
    double value[5] = {mean, mean, mean, mean, mean};
    gaussian_path_release_all(path, number + 1, index, value, limit, value);
    return value[number];
}

struct walk {
    const struct gaussian_path *path;
    uint32_t stride; /* odd: every point once, in an order of its own */
    double value[POINTS];
};

static void *walk(void *context)
{
    struct walk *walk = context;
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t at = i * walk->stride % POINTS, index = at << 11;
        walk->value[at] = release_one(walk->path, 1, &index, 0.25, 1.0);
    }
    return NULL;
}

Test(gaussian_path, one_function_in_any_order_on_any_thread_after_any_restart)
{
    static const uint32_t strides[THREADS] = {1, 3, 77, 511};
    static struct walk walks[THREADS];
    struct gaussian_path *path = gaussian_path_new(&plain, some_key);
    struct gaussian_path *restarted = gaussian_path_new(&plain, some_key);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        walks[t].path = t == THREADS - 1 ? restarted : path;
        walks[t].stride = strides[t];
        cr_assert_eq(pthread_create(&threads[t], NULL, walk, &walks[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 1; t < THREADS; t++)
        cr_assert_arr_eq(walks[t].value, walks[0].value, sizeof walks[0].value);
    cr_assert_neq(walks[0].value[0], walks[0].value[1]);
    gaussian_path_free(path);
    gaussian_path_free(restarted);
    gaussian_path_free(NULL);
}

Test(gaussian_path, quantises_and_refuses)
{
    double x = 0.1F, y = 0.1, below = -7.0, above = INFINITY, none = NAN, zero = -0.0;
    uint32_t a = 9, b = 8;
    cr_assert(gaussian_path_quantise(&plain, &x, &a) && gaussian_path_quantise(&plain, &y, &b));
    cr_assert(a == b && a == 104858, "%u", a);
    cr_assert(gaussian_path_quantise(&plain, &below, &a) && a == 0);
    cr_assert(gaussian_path_quantise(&plain, &zero, &a) && a == 0);
    cr_assert(gaussian_path_quantise(&plain, &above, &a) && a == 1U << 20);
    cr_assert(!gaussian_path_quantise(&plain, &none, &a) && a == 1U << 20);
    const struct gaussian_path_law bad[] = {
        {0, 1, 8, 1},   {-1, 1, 8, 1}, {NAN, 1, 8, 1},  {INFINITY, 1, 8, 1}, {1, 0, 8, 1},
        {1, NAN, 8, 1}, {1, -1, 8, 1}, {1, 1, 0, 1},    {1, 1, 25, 1},       {1, 1, 8, 0},
        {1, 1, 8, 5},   {1, 1, 24, 4}, {1, 1e300, 8, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not_null(gaussian_path_problem(&bad[i]), "%zu", i);
    cr_expect_null(gaussian_path_problem(&plain));
}

Test(gaussian_path, answers_lie_on_the_public_grid)
{
    struct gaussian_path *path = gaussian_path_new(&plain, some_key);
    double step = plain.sigma * GAUSSIAN_GRID_STEP;
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t index = i * 2097;
        double mean = sin(i), value = release_one(path, 0, &index, mean, 1.0);
        long double exact = mean + gaussian_path_value(path, 0, &index);
        cr_assert_eq(value / step, rint(value / step));
        cr_assert_leq(fabsl(value - exact), step / 2);
    }
    gaussian_path_free(path);
}

/* Rough normals decide nothing: means are chosen so that sums lie at a cell's edge, as near as
 * double can put them, and the answer must be that of the fine value. */
Test(gaussian_path, answers_are_those_of_the_fine_value)
{
    struct gaussian_path *path = gaussian_path_new(&plain, some_key);
    double step = plain.sigma * GAUSSIAN_GRID_STEP;
    int either_side[2] = {0, 0};
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t index = i * 523;
        long double value = gaussian_path_value(path, 2, &index);
        double mean = (double)(1000.5 * step - value),
               edge = (double)(mean + value - 1000.5 * step);
        double answer = release_one(path, 2, &index, mean, 10.0);
        cr_assert_eq(answer, gaussian_grid_round(mean, value, plain.sigma, 10.0));
        cr_assert_lt(fabs(edge), 1e-15);
        either_side[answer > 1000.5 * step]++;
    }
    cr_assert(either_side[0] > 700 && either_side[1] > 700);
    gaussian_path_free(path);
}

Test(gaussian_grid, rounds_once_and_clips_where_it_says)
{
    cr_expect_eq(gaussian_grid_round(1.0, 0.0L, 1.0, 2.0), 1.0);
    cr_expect_eq(gaussian_grid_round(0.0, 1.4999L / 4096, 1.0, 2.0), 1.0 / 4096);
    cr_expect_eq(gaussian_grid_round(0.0, -1.5001L / 4096, 1.0, 2.0), -2.0 / 4096);
    cr_expect_eq(gaussian_grid_round(2.0, 9.0L, 1.0, 2.0), 11.0);
    cr_expect_eq(gaussian_grid_round(2.0, 1e6L, 1.0, 2.0), 12.0, "V + 10 sigma, not less");
    cr_expect_eq(gaussian_grid_round(-2.0, -1e6L, 1.0, 2.0), -12.0, "and not more");
    cr_expect_eq(gaussian_grid_round(50.0, 0.0L, 1.0, 2.0), 2.0, "the mean stays in its class");
    cr_expect_eq(gaussian_grid_round(-INFINITY, 0.0L, 1.0, 2.0), -2.0);
    cr_expect_eq(gaussian_grid_round(NAN, 0.0L, 1.0, 2.0), 0.0);
    double zero = gaussian_grid_round(-1e-9, 0.0L, 1.0, 2.0);
    cr_expect(zero == 0.0 && !signbit(zero));
}

Test(gaussian_path, all_paths_at_once_are_each_of_them)
{
    const struct gaussian_path_law law = {.beta = 2, .sigma = 0.7, .bits = 20, .dimensions = 1};
    const uint8_t key[GAUSSIAN_PATH_KEY_BYTES] = {9};
    struct gaussian_path *path = gaussian_path_new(&law, key);
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t index = (i * UINT32_C(2654435761)) >> 12;
        double mean[5] = {0, 0.1, -0.2, 5, -7}, all[5];
        gaussian_path_release_all(path, 5, &index, mean, 1.0, all);
        for (uint32_t a = 0; a < 5; a++)
            cr_expect_eq(all[a], release_one(path, a, &index, mean[a], 1.0));
    }
    gaussian_path_free(path);
}

/* The blocks that paths rest on, against libsodium's stream: the values of releases that are out
 * there hang on them. */
Test(gaussian_path, blocks_side_by_side_are_chacha20)
{
    uint8_t key[32], block[19][CHACHA20_BLOCK_BYTES], expected[CHACHA20_BLOCK_BYTES];
    struct rng rng;
    rng_seed(&rng, 3, 3);
    for (uint32_t count = 1; count <= 19; count++) {
        uint64_t nonce[19];
        for (int i = 0; i < 32; i++)
            key[i] = (uint8_t)rng_next(&rng);
        for (uint32_t i = 0; i < count; i++)
            nonce[i] = rng_next(&rng) >> rng_below(&rng, 64);
        chacha20_blocks(key, nonce, count, block);
        for (uint32_t i = 0; i < count; i++) {
            uint8_t bytes[8];
            for (int b = 0; b < 8; b++)
                bytes[b] = (uint8_t)(nonce[i] >> 8 * b);
            crypto_stream_chacha20(expected, sizeof expected, bytes, key);
            cr_expect_arr_eq(block[i], expected, sizeof expected, "%u of %u", i, count);
        }
    }
}
