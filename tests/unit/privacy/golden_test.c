/* The yardsticks themselves: what chance gives passes, what it does not give fails. */
#include "tests/unit/privacy/golden.h"

#include <criterion/criterion.h>
#include <math.h>

Test(golden, rare_coins_are_measured_by_their_own_law)
{
    cr_expect_eq(golden_coins(50, 100, 0.5), 0.0);
    cr_expect_float_eq(golden_coins(60, 100, 0.5), 2.0067, 1e-4, "nearly (60 - 50) / 5");
    cr_expect_float_eq(golden_coins(40, 100, 0.5), 2.0067, 1e-4);
    /* Two are expected: eleven or more come once in 1e5, twenty-five once in 1e20. */
    cr_expect_lt(golden_coins(11, 200000, 1e-5), Z_LIMIT);
    cr_expect_gt(golden_coins(25, 200000, 1e-5), Z_LIMIT);
    cr_expect_eq(golden_coins(0, 100, 0.0), 0.0);
    cr_expect_eq(golden_coins(100, 100, 1.0), 0.0);
    cr_expect(isinf(golden_coins(1, 100, 0.0)) && isinf(golden_coins(99, 100, 1.0)));
}

Test(golden, a_small_shift_is_found)
{
    enum { N = 20000 };
    static double sample[N], counts[4], expected[4];
    struct noise_source *noise = golden_noise(1);
    for (int i = 0; i < N; i++) {
        sample[i] = noise_normal(noise) + 0.08;
        counts[(sample[i] > 0.0) + (sample[i] > 0.7) + (sample[i] > -0.7)] += 1.0;
    }
    for (int i = 0; i < 4; i++)
        expected[i] = N * (i % 3 ? 0.2580363 : 0.2419637); /* without the shift */
    cr_expect_gt(golden_ks(sample, N, golden_normal_cdf), KS_LIMIT);
    cr_expect_gt(golden_chi_square(counts, expected, 4), CHI_LIMIT);
    noise_source_free(noise);
}
