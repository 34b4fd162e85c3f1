/* Sine and cosine of four, against the C library's. */
#include "envs/lanes.h"

#include <criterion/criterion.h>

#include "envs/rng.h"

/* Units in the last place of WANTED. */
static double ulps(double got, double wanted)
{
    return fabs(got - wanted) / ldexp(1.0, ilogb(wanted) - 52);
}

static lanes some(struct rng *rng, double reach)
{
    lanes x;
    for (int l = 0; l < 4; l++)
        x[l] = rng_between(rng, -reach, reach);
    return x;
}

Test(lanes, small_angles_are_right_to_the_last_place)
{
    struct rng rng;
    rng_seed(&rng, 1, 1);
    int differ = 0;
    for (int i = 0; i < 100000; i++) {
        lanes x = some(&rng, i % 2 ? 0.21 : M_PI_4), sine, cosine;
        lanes_small_sin_cos(x, &sine, &cosine);
        for (int l = 0; l < 4; l++) {
            /* Both are within 0.56 of the truth. */
            cr_assert_leq(ulps(sine[l], sin(x[l])), 1.0, "%.17g", x[l]);
            cr_assert_leq(ulps(cosine[l], cos(x[l])), 1.0, "%.17g", x[l]);
            differ += i % 2 && (sine[l] != sin(x[l]) || cosine[l] != cos(x[l]));
        }
    }
    cr_assert_leq(differ, 200000 * 0.01); /* of numbers up to 0.21; with glibc 0.3 % */
}

Test(lanes, any_angle_is_within_two_ten_quadrillionths)
{
    struct rng rng;
    rng_seed(&rng, 2, 2);
    for (double reach = 1.0; reach < 1e7; reach *= 3) {
        for (int i = 0; i < 5000; i++) {
            lanes x = some(&rng, reach), sine, cosine;
            if (i < 1000) /* around quarter turns */
                x = lanes_all((i - 500) * M_PI_2) + (lanes){0.0, 1e-9, -1e-5, 1e-300};
            lanes_sin_cos(x, &sine, &cosine);
            for (int l = 0; l < 4; l++) {
                cr_assert_leq(fabs(sine[l] - sin(x[l])), 2e-16, "%.17g", x[l]);
                cr_assert_leq(fabs(cosine[l] - cos(x[l])), 2e-16, "%.17g", x[l]);
            }
        }
    }
}

Test(lanes, small_angles_have_the_same_bits_by_either_way_and_in_any_lane)
{
    struct rng rng;
    rng_seed(&rng, 3, 3);
    for (int i = 0; i < 20000; i++) {
        lanes x = some(&rng, M_PI_4), sine, cosine, sine_any, cosine_any;
        lanes_small_sin_cos(x, &sine, &cosine);
        if (i % 3 == 0)
            x[i % 4] = 1e7; /* a neighbour that goes the long way */
        lanes_sin_cos(x, &sine_any, &cosine_any);
        for (int l = 0; l < 4; l++) {
            if (i % 3 == 0 && l == i % 4)
                continue;
            cr_assert_eq(sine[l], sine_any[l]);
            cr_assert_eq(cosine[l], cosine_any[l]);
        }
    }
}

Test(lanes, angles_that_are_not_finite_give_no_number)
{
    lanes sine, cosine;
    lanes_sin_cos((lanes){NAN, INFINITY, -INFINITY, 1e300}, &sine, &cosine);
    for (int l = 0; l < 3; l++)
        cr_assert(isnan(sine[l]) && isnan(cosine[l]));
    cr_assert_eq(sine[3], sin(1e300));
    cr_assert_eq(cosine[3], cos(1e300));
}
