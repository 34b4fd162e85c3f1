/* The law between two known points, against linear algebra at 50 digits. */
#include "bench/gp/gaussian_bridge.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tests/unit/privacy/golden.h"

static bool read_point(const json_t *item, const char *key, struct gaussian_bridge_point *point)
{
    const json_t *pair = json_object_get(item, key);
    if (!json_is_array(pair))
        return false;
    point->x = json_number_value(json_array_get(pair, 0));
    point->value = json_number_value(json_array_get(pair, 1));
    return true;
}

Test(gaussian_bridge, golden)
{
    json_t *root = golden_load("gaussian_process.json"), *item;
    size_t i;
    json_array_foreach(json_object_get(root, "ou_bridge"), i, item)
    {
        struct gaussian_bridge_point left, right;
        bool has_left = read_point(item, "left", &left),
             has_right = read_point(item, "right", &right);
        double mean, variance, m = golden_number(item, "mean"), v = golden_number(item, "variance");
        gaussian_bridge(golden_number(item, "beta"), golden_number(item, "sigma"),
                        golden_number(item, "x"), has_left ? &left : NULL,
                        has_right ? &right : NULL, &mean, &variance);
        cr_expect_leq(fabs(mean - m), 1e-12 * fabs(m), "%zu: %.17g for %.17g", i, mean, m);
        cr_expect_leq(fabs(variance - v), 1e-12 * v, "%zu: %.17g for %.17g", i, variance, v);
    }
    cr_assert_geq(i, 12);
    json_decref(root);
}

Test(gaussian_bridge, never_divides_nothing_by_nothing)
{
    struct gaussian_bridge_point left = {0.5, 3.0}, right = {nextafter(0.5, 1.0), 4.0};
    double mean, variance;
    gaussian_bridge(1e-300, 1.0, 0.5, &left, &right, &mean, &variance);
    cr_expect(mean == 3.0 && variance == 0.0);
    gaussian_bridge(1.0, 1.0, right.x, &left, &right, &mean, &variance);
    cr_expect(mean == 4.0 && variance == 0.0);
    gaussian_bridge(1.0, 1.0, 0.5, &left, &left, &mean, &variance);
    cr_expect(mean == 3.0 && variance == 0.0);
    /* gaps of which beta makes zeros in double: the neighbour's value */
    struct gaussian_bridge_point near = {0.0, 1.0}, far = {1e-20, 2.0};
    gaussian_bridge(1e-310, 1.0, 0.5e-20, &near, &far, &mean, &variance);
    cr_expect(mean == 1.0 && variance == 0.0, "%g %g", mean, variance);
    gaussian_bridge(1e308, 1.0, 0.75, &left, NULL, &mean, &variance);
    cr_expect(mean == 0.0 && variance == 1.0);
}

Test(gaussian_bridge, a_known_point_says_all_that_lies_beyond_it)
{
    /* Markov: with a nearer neighbour on each side, further ones add nothing. Checked through the
     * chain rule: mean and variance at the middle from the ends, by way of a point between. */
    double beta = 3.0, sigma = 1.5;
    struct gaussian_bridge_point left = {0.2, 0.7}, right = {0.8, -1.1};
    double m, v, mean, variance;
    gaussian_bridge(beta, sigma, 0.5, &left, &right, &m, &v);
    /* X(0.4) given the ends, directly and through X(0.5) */
    gaussian_bridge(beta, sigma, 0.4, &left, &right, &mean, &variance);
    struct gaussian_bridge_point zero = {0.5, 0.0}, one = {0.5, 1.0};
    double at_zero, at_one, inner;
    gaussian_bridge(beta, sigma, 0.4, &left, &zero, &at_zero, &inner);
    gaussian_bridge(beta, sigma, 0.4, &left, &one, &at_one, &inner);
    double slope = at_one - at_zero;
    cr_expect_float_eq(mean, at_zero + slope * m, 1e-14);
    cr_expect_float_eq(variance, inner + slope * slope * v, 1e-14);
}
