/* Caps of the sphere against the incomplete beta function at 40 digits. */
#include "algos/privacy/math/sphere.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tests/unit/privacy/golden.h"

Test(sphere, oracles)
{
    json_t *root = golden_load("local_reports.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "sphere"), i, one)
    {
        uint32_t dimension = (uint32_t)golden_number(one, "dimension");
        double t = golden_number(one, "t"), tail = golden_number(one, "tail");
        double mean = golden_number(one, "mean"), square = golden_number(one, "square");
        cr_expect(fabs(sphere_tail(dimension, t) / tail - 1.0) <
                      (dimension > 10000 ? 1e-10 : 1e-12),
                  "tail %zu: %.16g for %.16g", i, sphere_tail(dimension, t), tail);
        cr_expect(fabs(sphere_tail_mean(dimension, t) / mean - 1.0) < 1e-12, "mean %zu", i);
        cr_expect(fabs(sphere_tail_square(dimension, t) / square - 1.0) < 1e-12, "square %zu", i);
        cr_expect_float_eq(sphere_tail(dimension, -t), 1.0 - tail, 1e-12);
        if (t >= 0.0) {
            double least = sphere_tail_least(dimension, t);
            cr_expect(least < tail && least > tail * (1.0 - 1e-5), "bound %zu: %.16g of %.16g", i,
                      least, tail);
        }
    }
    cr_assert_eq(i, 24);
    json_decref(root);
}

/* Where no oracle is at hand the bound is below the continued fraction, and near it. */
Test(sphere, bound_is_a_bound_over_the_whole_range)
{
    static const uint32_t dimensions[] = {2, 3, 4, 5, 20, 113, 5000, (1u << 20) + 1};
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++)
        for (double t = 0.0; t < 1.0; t += fmin(0.01, 0.2 / sqrt(dimensions[i]))) {
            double tail = sphere_tail(dimensions[i], t),
                   least = sphere_tail_least(dimensions[i], t);
            if (tail < 1e-25)
                break;
            cr_expect(least < tail && least > tail * (1.0 - 1e-5), "%u, %g: %.16g of %.16g",
                      dimensions[i], t, least, tail);
        }
}
