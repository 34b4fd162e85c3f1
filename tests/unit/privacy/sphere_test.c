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
        if (t > 0.0) {
            double back = sphere_tail_inverse(dimension, tail);
            cr_expect(fabs(back / t - 1.0) < 1e-10, "inverse %zu: %.16g for %.16g", i, back, t);
        }
    }
    cr_assert_eq(i, 24);
    json_decref(root);
}

Test(sphere, inverse_is_one_over_the_whole_range)
{
    static const uint32_t dimensions[] = {2, 3, 4, 20, 113, 5000, 1u << 20};
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++)
        for (double p = 0.5; p > 1e-40; p *= 0.3) {
            double t = sphere_tail_inverse(dimensions[i], p);
            cr_assert(t >= 0.0 && t <= 1.0);
            if (t > 1.0 - 1e-6)
                break; /* one ulp of t is too many of p */
            double back = sphere_tail(dimensions[i], t);
            double slack = 1e-10 + 2e-15 * dimensions[i] * t / (1.0 - t);
            cr_expect(fabs(back / p - 1.0) < slack, "%u: %g for %g", dimensions[i], back, p);
        }
}
