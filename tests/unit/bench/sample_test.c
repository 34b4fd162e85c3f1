/* What the reproductions say of repeated runs. */
#include "bench/plot/sample.h"

#include <criterion/criterion.h>
#include <math.h>

Test(sample, quartiles_lie_between_values)
{
    double values[] = {4, 1, 3, 2};
    struct sample_quartiles q = sample_quartiles_of(values, 4);
    cr_expect_float_eq(q.low, 1.75, 1e-12);
    cr_expect_float_eq(q.median, 2.5, 1e-12);
    cr_expect_float_eq(q.high, 3.25, 1e-12);
}

Test(sample, a_run_that_never_succeeded_is_infinite_and_the_median_may_be)
{
    double one[] = {INFINITY, 1, 2}, most[] = {INFINITY, 1, INFINITY};
    cr_expect_eq(sample_quartiles_of(one, 3).median, 2.0);
    cr_expect(isinf(sample_quartiles_of(one, 3).high));
    cr_expect(isinf(sample_quartiles_of(most, 3).median));
}

Test(sample, one_value_has_no_interval)
{
    double value = 7;
    struct sample_mean one = sample_mean_of(&value, 1);
    cr_expect_eq(one.mean, 7.0);
    cr_expect(isnan(one.half));
    cr_expect_eq(sample_quartiles_of(&value, 1).median, 7.0);
}

Test(sample, the_mean_has_students_interval)
{
    /* Deviation 1, two degrees of freedom: 4.303 / sqrt(3). */
    const double values[] = {1, 2, 3};
    struct sample_mean three = sample_mean_of(values, 3);
    cr_expect_float_eq(three.mean, 2.0, 1e-12);
    cr_expect_float_eq(three.deviation, 1.0, 1e-12);
    cr_expect_float_eq(three.half, 4.303 / sqrt(3.0), 1e-9);
}
