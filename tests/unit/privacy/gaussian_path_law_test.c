/* The law of both forms of the path; false alarms: golden.h. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/functions/gaussian_path.h"
#include "bench/gp/gaussian_path_table.h"
#include "tests/unit/privacy/covariance.h"
#include "tests/unit/privacy/golden.h"

enum { DRAWS = 4000 };

static struct gaussian_path *path_of(const struct gaussian_path_law *law, uint32_t number)
{
    uint8_t key[GAUSSIAN_PATH_KEY_BYTES] = {0};
    memcpy(key, &number, sizeof number); /* keys that differ in one bit are as good as any */
    struct gaussian_path *path = gaussian_path_new(law, key);
    cr_assert_not_null(path);
    return path;
}

/* Whitened by the claimed covariance, all entries are independent normals: moments and shape. */
static void check_law(double *sample, size_t count, size_t size, const double *covariance,
                      const char *what)
{
    covariance_whiten(sample, count, size, covariance);
    double deviation = covariance_deviation(sample, count, size);
    cr_expect_lt(fabs(deviation), CHI_LIMIT, "%s: covariance off by %g", what, deviation);
    double distance = golden_ks(sample, count * size, golden_normal_cdf);
    cr_expect_lt(distance, KS_LIMIT, "%s: not normal, %g", what, distance);
}

/* A coarse level, neighbours at the finest one, and the ends. */
static const uint32_t places[] = {0, 1, 2, 300, 512, 513, 700, 1024};
enum { PLACES = sizeof places / sizeof places[0] };

static void check_path(double beta)
{
    struct gaussian_path_law law = {.beta = beta, .sigma = 1.5, .bits = 10, .dimensions = 1};
    double *sample = malloc(DRAWS * PLACES * sizeof *sample), point[PLACES];
    double covariance[PLACES * PLACES];
    for (size_t i = 0; i < PLACES; i++)
        point[i] = places[i] / 1024.0;
    for (uint32_t d = 0; d < DRAWS; d++) {
        struct gaussian_path *path = path_of(&law, d);
        for (size_t i = 0; i < PLACES; i++)
            sample[d * PLACES + i] = (double)gaussian_path_value(path, d % 5, &places[i]);
        gaussian_path_free(path);
    }
    covariance_of_points(beta, law.sigma, point, PLACES, 1, 1, covariance);
    check_law(sample, DRAWS, PLACES, covariance, "stateless path");
    free(sample);
}

Test(gaussian_path_law, stateless_path)
{
    check_path(0.05);
    check_path(3.0);
    check_path(500.0);
}

Test(gaussian_path_law, marginals)
{
    struct gaussian_path_law law = {.beta = 3.0, .sigma = 2.0, .bits = 24, .dimensions = 1};
    static const uint32_t at[] = {0, 1U << 24, 1U << 23, 5592405};
    double *sample = malloc(DRAWS * sizeof *sample);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        struct gaussian_path *path = path_of(&law, 77);
        for (uint32_t d = 0; d < DRAWS; d++)
            sample[d] = (double)gaussian_path_value(path, d, &at[i]) / law.sigma;
        double distance = golden_ks(sample, DRAWS, golden_normal_cdf);
        cr_expect_lt(distance, KS_LIMIT, "at %u: %g", at[i], distance);
        gaussian_path_free(path);
    }
    free(sample);
}

/* Exact, no sampling: the coefficients' inner products are the covariance. */
Test(gaussian_path_law, covariance_of_all_pairs_of_a_grid)
{
    enum { BITS = 6, SIZE = (1 << BITS) + 1 };
    static long double matrix[SIZE][GAUSSIAN_PATH_MAX_NODES * 4];
    struct gaussian_path_axis axis;
    gaussian_path_axis_init(&axis, 1.75, BITS);
    double worst = 0;
    for (uint32_t i = 0; i < SIZE; i++) {
        struct gaussian_path_node nodes[GAUSSIAN_PATH_MAX_NODES];
        size_t count = gaussian_path_axis_nodes(&axis, i, nodes);
        for (size_t k = 0; k < count; k++) /* ends 0 and 1, then by level */
            matrix[i][nodes[k].level < 0 ? nodes[k].index
                                         : (1U << nodes[k].level) + nodes[k].index + 1] =
                nodes[k].coefficient;
    }
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            long double sum = 0;
            for (int k = 0; k <= SIZE; k++)
                sum += matrix[i][k] * matrix[j][k];
            worst = fmax(worst, (double)fabsl(sum - expl(-1.75L * abs(i - j) / (SIZE - 1))));
        }
    }
    cr_assert_lt(worst, 0x1p-61, "%g", worst);
}

Test(gaussian_path_law, actions_and_keys_are_independent)
{
    enum { GROUPS = 3, EACH = 3, SIZE = GROUPS * EACH };
    static const uint32_t at[EACH] = {100, 512, 1000};
    struct gaussian_path_law law = {.beta = 1.0, .sigma = 1.0, .bits = 10, .dimensions = 1};
    double *sample = malloc(DRAWS * SIZE * sizeof *sample), covariance[SIZE * SIZE], point[EACH];
    for (size_t i = 0; i < EACH; i++)
        point[i] = at[i] / 1024.0;
    for (uint32_t d = 0; d < DRAWS; d++) {
        struct gaussian_path *path = path_of(&law, 2 * d), *other = path_of(&law, 2 * d + 1);
        for (size_t i = 0; i < EACH; i++) {
            double *row = sample + d * SIZE + i;
            row[0] = (double)gaussian_path_value(path, 0, &at[i]);
            row[EACH] = (double)gaussian_path_value(path, 1, &at[i]);
            row[2 * EACH] = (double)gaussian_path_value(other, 0, &at[i]);
        }
        gaussian_path_free(path);
        gaussian_path_free(other);
    }
    covariance_of_points(law.beta, law.sigma, point, EACH, 1, GROUPS, covariance);
    check_law(sample, DRAWS, SIZE, covariance, "paths of one key, and of two");
    free(sample);
}

Test(gaussian_path_law, sheet)
{
    enum { SIZE = 6 };
    static const uint32_t at[SIZE][2] = {{0, 0}, {16, 3}, {5, 5}, {5, 6}, {9, 16}, {12, 8}};
    struct gaussian_path_law law = {.beta = 1.3, .sigma = 0.7, .bits = 4, .dimensions = 2};
    double *sample = malloc(DRAWS * SIZE * sizeof *sample), point[SIZE][2];
    double covariance[SIZE * SIZE];
    for (size_t i = 0; i < SIZE; i++) {
        point[i][0] = at[i][0] / 16.0;
        point[i][1] = at[i][1] / 16.0;
    }
    for (uint32_t d = 0; d < DRAWS; d++) {
        struct gaussian_path *path = path_of(&law, d);
        for (size_t i = 0; i < SIZE; i++)
            sample[d * SIZE + i] = (double)gaussian_path_value(path, 0, at[i]);
        gaussian_path_free(path);
    }
    covariance_of_points(law.beta, law.sigma, &point[0][0], SIZE, 2, 1, covariance);
    check_law(sample, DRAWS, SIZE, covariance, "sheet");
    free(sample);
}

static const double visited[] = {0.5, 0.1, 0.9, 0.500001, 0.0, 0.3, 1.0, 0.7};
enum { VISITED = sizeof visited / sizeof visited[0] };

Test(gaussian_path_law, stored_path)
{
    double *sample = malloc(DRAWS * VISITED * sizeof *sample), covariance[VISITED * VISITED];
    struct noise_source *noise = golden_noise(620);
    for (size_t d = 0; d < DRAWS; d++) {
        struct gaussian_path_table *table = gaussian_path_table_new(2.0, 0.8, 100);
        for (size_t i = 0; i < VISITED; i++) {
            size_t at = (i * 3 + d) % VISITED; /* in eight orders */
            cr_assert_eq(
                gaussian_path_table_value(table, noise, visited[at], &sample[d * VISITED + at]),
                GAUSSIAN_PATH_TABLE_OK);
        }
        gaussian_path_table_free(table);
    }
    covariance_of_points(2.0, 0.8, visited, VISITED, 1, 1, covariance);
    check_law(sample, DRAWS, VISITED, covariance, "stored path");
    noise_source_free(noise);
    free(sample);
}

/* Which of the COUNT points before SAMPLE[count] it is conditioned on. */
typedef void (*choice)(const struct gaussian_bridge_point *points, size_t count, double x,
                       const struct gaussian_bridge_point **left,
                       const struct gaussian_bridge_point **right);

static void nearest(const struct gaussian_bridge_point *points, size_t count, double x,
                    const struct gaussian_bridge_point **left,
                    const struct gaussian_bridge_point **right)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].x < x && (!*left || points[i].x > (*left)->x))
            *left = &points[i];
        if (points[i].x > x && (!*right || points[i].x < (*right)->x))
            *right = &points[i];
    }
}

/* The published code's slip: beyond the last point it takes the value of the first. */
static void first_instead_of_last(const struct gaussian_bridge_point *points, size_t count,
                                  double x, const struct gaussian_bridge_point **left,
                                  const struct gaussian_bridge_point **right)
{
    nearest(points, count, x, left, right);
    if (*left && !*right)
        for (size_t i = 0; i < count; i++)
            *left = points[i].x < (*left)->x ? &points[i] : *left;
}

/* The value visited last, in place of the nearest on that side. */
static void latest_on_either_side(const struct gaussian_bridge_point *points, size_t count,
                                  double x, const struct gaussian_bridge_point **left,
                                  const struct gaussian_bridge_point **right)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].x < x)
            *left = &points[i];
        if (points[i].x > x)
            *right = &points[i];
    }
}

static void left_alone(const struct gaussian_bridge_point *points, size_t count, double x,
                       const struct gaussian_bridge_point **left,
                       const struct gaussian_bridge_point **right)
{
    nearest(points, count, x, left, right);
    if (*left)
        *right = NULL;
}

static double deviation_of(choice choose, unsigned seed)
{
    static const double order[] = {0.3, 0.1, 0.6, 0.9, 0.2, 0.75};
    enum { SIZE = sizeof order / sizeof order[0] };
    double *sample = malloc(DRAWS * SIZE * sizeof *sample), covariance[SIZE * SIZE];
    struct noise_source *noise = golden_noise(seed);
    for (size_t d = 0; d < DRAWS; d++) {
        struct gaussian_bridge_point points[SIZE];
        for (size_t i = 0; i < SIZE; i++) {
            const struct gaussian_bridge_point *left = NULL, *right = NULL;
            double mean, variance;
            choose(points, i, order[i], &left, &right);
            gaussian_bridge(2.0, 1.0, order[i], left, right, &mean, &variance);
            points[i].x = order[i];
            points[i].value = mean + sqrt(variance) * noise_normal(noise);
            sample[d * SIZE + i] = points[i].value;
        }
    }
    covariance_of_points(2.0, 1.0, order, SIZE, 1, 1, covariance);
    covariance_whiten(sample, DRAWS, SIZE, covariance);
    double deviation = covariance_deviation(sample, DRAWS, SIZE);
    noise_source_free(noise);
    free(sample);
    return deviation;
}

Test(gaussian_path_law, a_bridge_on_the_wrong_neighbour_is_found_out)
{
    double right = deviation_of(nearest, 630);
    cr_expect_lt(fabs(right), CHI_LIMIT, "nearest neighbours: %g", right);
    choice wrong[] = {first_instead_of_last, latest_on_either_side, left_alone};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        double deviation = deviation_of(wrong[i], 631 + (unsigned)i);
        cr_expect_gt(deviation, 2.0 * CHI_LIMIT, "wrong choice %zu passes with %g", i, deviation);
    }
}

/* Two forms, one law: the increments over one gap, sample against sample (Kolmogorov-Smirnov). */
Test(gaussian_path_law, both_forms_agree)
{
    static double both[2][DRAWS];
    struct gaussian_path_law law = {.beta = 4.0, .sigma = 1.0, .bits = 8, .dimensions = 1};
    struct noise_source *noise = golden_noise(640);
    struct gaussian_path *path = path_of(&law, 4321);
    for (uint32_t d = 0; d < DRAWS; d++) {
        uint32_t from = 60, to = 100;
        struct gaussian_path_table *table = gaussian_path_table_new(4.0, 1.0, 2);
        double a, b;
        gaussian_path_table_value(table, noise, from / 256.0, &a);
        gaussian_path_table_value(table, noise, to / 256.0, &b);
        both[0][d] = a - b;
        both[1][d] =
            (double)(gaussian_path_value(path, d, &from) - gaussian_path_value(path, d, &to));
        gaussian_path_table_free(table);
    }
    double spread = sqrt(2.0 * -expm1(-4.0 * 40.0 / 256.0));
    for (int form = 0; form < 2; form++) {
        for (int d = 0; d < DRAWS; d++)
            both[form][d] /= spread;
        cr_expect_lt(golden_ks(both[form], DRAWS, golden_normal_cdf), KS_LIMIT);
    }
    size_t j = 0;
    double apart = 0;
    for (size_t i = 0; i < DRAWS; i++) { /* golden_ks has sorted both */
        while (j < DRAWS && both[1][j] <= both[0][i])
            j++;
        apart = fmax(apart, fabs((double)(i + 1) - (double)j) / DRAWS);
    }
    cr_expect_lt(apart * sqrt(DRAWS / 2.0), KS_LIMIT);
    gaussian_path_free(path);
    noise_source_free(noise);
}
