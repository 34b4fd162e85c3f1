/* The stored path as a container: remembers, finds its neighbours, keeps its bounds. */
#include "bench/gp/gaussian_path_table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

Test(gaussian_path_table, remembers_every_point)
{
    enum { N = 2000 };
    struct noise_source *noise = golden_noise(610);
    struct gaussian_path_table *table = gaussian_path_table_new(1.0, 1.0, N);
    static double x[N], value[N];
    for (int i = 0; i < N; i++) {
        x[i] = noise_uniform(noise);
        cr_assert_eq(gaussian_path_table_value(table, noise, x[i], &value[i]),
                     GAUSSIAN_PATH_TABLE_OK);
    }
    for (int i = N - 1; i >= 0; i--) {
        double again;
        cr_assert_eq(gaussian_path_table_value(table, noise, x[i], &again), GAUSSIAN_PATH_TABLE_OK);
        cr_assert_eq(again, value[i]);
    }
    cr_assert_eq(gaussian_path_table_count(table), N);
    gaussian_path_table_free(table);
    gaussian_path_table_free(NULL);
    noise_source_free(noise);
}

/* Against a scan of all points, for random, rising, falling and alternating orders. */
Test(gaussian_path_table, neighbours_are_the_nearest)
{
    enum { N = 300, ORDERS = 4 };
    struct noise_source *noise = golden_noise(611);
    for (int order = 0; order < ORDERS; order++) {
        struct gaussian_path_table *table = gaussian_path_table_new(1.0, 1.0, N);
        double x[N], value;
        for (int i = 0; i < N; i++) {
            x[i] = order == 0   ? noise_uniform(noise)
                   : order == 1 ? (double)i / N
                   : order == 2 ? 1.0 - (double)i / N
                                : 0.5 + (i % 2 ? 0.5 : -0.5) * i / N;
            struct gaussian_bridge_point left, right;
            bool has_left, has_right;
            double below = -1.0, above = 2.0;
            for (int j = 0; j < i; j++) {
                below = x[j] <= x[i] ? fmax(below, x[j]) : below;
                above = x[j] >= x[i] ? fmin(above, x[j]) : above;
            }
            gaussian_path_table_neighbours(table, x[i], &left, &has_left, &right, &has_right);
            cr_assert(has_left == (below >= 0.0) && (!has_left || left.x == below));
            cr_assert(has_right == (above <= 1.0) && (!has_right || right.x == above));
            cr_assert_eq(gaussian_path_table_value(table, noise, x[i], &value),
                         GAUSSIAN_PATH_TABLE_OK);
        }
        gaussian_path_table_free(table);
    }
    noise_source_free(noise);
}

Test(gaussian_path_table, refuses)
{
    static const double bad[] = {NAN, -1e-9, 1.0000001, INFINITY, -INFINITY};
    struct noise_source *noise = golden_noise(612);
    struct gaussian_path_table *table = gaussian_path_table_new(1.0, 1.0, 2);
    double value = 7.0, first, zero;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_eq(gaussian_path_table_value(table, noise, bad[i], &value),
                     GAUSSIAN_PATH_TABLE_BAD_POINT);
    cr_assert_eq(gaussian_path_table_value(table, noise, 0.0, &first), GAUSSIAN_PATH_TABLE_OK);
    cr_assert_eq(gaussian_path_table_value(table, noise, -0.0, &zero), GAUSSIAN_PATH_TABLE_OK);
    cr_assert_eq(first, zero, "one zero");
    cr_assert_eq(gaussian_path_table_value(table, noise, 1.0, &value), GAUSSIAN_PATH_TABLE_OK);
    double last = value;
    cr_assert_eq(gaussian_path_table_value(table, noise, 0.5, &value), GAUSSIAN_PATH_TABLE_FULL);
    cr_assert_eq(value, last, "untouched on failure");
    cr_assert_eq(gaussian_path_table_value(table, noise, 1.0, &value), GAUSSIAN_PATH_TABLE_OK);
    cr_assert_eq(gaussian_path_table_count(table), 2);
    gaussian_path_table_free(table);
    noise_source_free(noise);
}

/* Rising and falling orders make a list of a plain search tree. The deepest node of a treap of 1e5
 * is expected at 4.3 ln n = 50; beyond 100 with probability below 1e-8. */
Test(gaussian_path_table, a_hundred_thousand_points_in_bad_orders)
{
    enum { N = 100000 };
    struct noise_source *noise = golden_noise(613);
    for (int falling = 0; falling < 2; falling++) {
        struct gaussian_path_table *table = gaussian_path_table_new(10.0, 1.0, N);
        double value, previous = 0, quadratic = 0;
        size_t deepest = 0;
        for (int i = 0; i < N; i++) {
            struct gaussian_bridge_point left, right;
            bool has_left, has_right;
            double x = falling ? 1.0 - (double)i / N : (double)i / N;
            size_t seen =
                gaussian_path_table_neighbours(table, x, &left, &has_left, &right, &has_right);
            deepest = seen > deepest ? seen : deepest;
            cr_assert_eq(gaussian_path_table_value(table, noise, x, &value),
                         GAUSSIAN_PATH_TABLE_OK);
            quadratic += i ? (value - previous) * (value - previous) : 0.0;
            previous = value;
        }
        for (int i = 0; i < N; i++) {
            struct gaussian_bridge_point left, right;
            bool has_left, has_right;
            double x = falling ? 1.0 - (double)i / N : (double)i / N;
            size_t seen =
                gaussian_path_table_neighbours(table, x, &left, &has_left, &right, &has_right);
            deepest = seen > deepest ? seen : deepest;
            cr_assert(has_left && has_right && left.x == x && right.x == x);
        }
        cr_assert_leq(deepest, 100, "%zu deep", deepest);
        /* quadratic variation 2 beta sigma^2 over [0, 1]; standard error sqrt(2 / N) of it */
        cr_assert_lt(golden_z(quadratic, 20.0, 20.0 * sqrt(2.0 / N)), Z_LIMIT);
        gaussian_path_table_free(table);
    }
    noise_source_free(noise);
}
