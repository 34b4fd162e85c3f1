/* The generator: the published recurrence, and the distributions made of it. Statistical bounds are
 * five standard errors wide; seeds are fixed. */
#include <criterion/criterion.h>
#include <math.h>

#include "envs/rng.h"

Test(rng, follows_the_published_recurrence)
{
    /* First outputs of xoshiro256++ 1.0 from the state {1, 2, 3, 4}. */
    static const uint64_t wanted[] = {UINT64_C(41943041), UINT64_C(58720359),
                                      UINT64_C(3588806011781223), UINT64_C(3591011842654386),
                                      UINT64_C(9228616714210784205)};
    struct rng rng = {.state = {1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        cr_assert_eq(rng_next(&rng), wanted[i], "output %zu", i);
}

Test(rng, seed_and_stream_name_a_history)
{
    struct rng a, b, c, d;
    rng_seed(&a, 5, 9);
    rng_seed(&b, 5, 9);
    rng_seed(&c, 5, 10);
    rng_seed(&d, 6, 9);
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_next(&a);
        cr_assert_eq(x, rng_next(&b));
        cr_assert_neq(x, rng_next(&c));
        cr_assert_neq(x, rng_next(&d));
    }
}

Test(rng, neighbouring_streams_are_unrelated)
{
    /* Half of the bits differ: mean 32, deviation 4 / sqrt(pairs). */
    enum { PAIRS = 10000 };
    double bits = 0.0;
    for (uint64_t s = 0; s < PAIRS; s++) {
        struct rng a, b;
        rng_seed(&a, 1, s);
        rng_seed(&b, 1, s + 1);
        bits += __builtin_popcountll(rng_next(&a) ^ rng_next(&b));
    }
    cr_assert_float_eq(bits / PAIRS, 32.0, 5 * 4.0 / sqrt(PAIRS));
}

Test(rng, below_is_uniform_and_stays_below)
{
    struct rng rng;
    rng_seed(&rng, 1, 2);
    enum { DRAWS = 70000, SIDES = 7 };
    unsigned seen[SIDES] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint32_t k = rng_below(&rng, SIDES);
        cr_assert_lt(k, SIDES);
        seen[k]++;
    }
    for (int k = 0; k < SIDES; k++)
        cr_assert_float_eq((double)seen[k], (double)DRAWS / SIDES, 5 * sqrt(10000 * 6.0 / 7));
    cr_assert_eq(rng_below(&rng, 1), 0);
}

Test(rng, below_has_no_modulo_bias)
{
    /* 3 * 2^30: a plain remainder of 32 bits would put half of the draws in the first third. */
    struct rng rng;
    rng_seed(&rng, 11, 0);
    enum { DRAWS = 30000 };
    unsigned first = 0;
    for (int i = 0; i < DRAWS; i++)
        first += rng_below(&rng, 3U << 30) < 1U << 30;
    cr_assert_float_eq((double)first, DRAWS / 3.0, 5 * sqrt(DRAWS * 2.0 / 9));
}

Test(rng, uniform_has_its_mean_and_variance)
{
    struct rng rng;
    rng_seed(&rng, 3, 4);
    enum { DRAWS = 100000 };
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        double u = rng_uniform(&rng);
        cr_assert(u >= 0.0 && u < 1.0);
        sum += u;
        squares += u * u;
    }
    cr_assert_float_eq(sum / DRAWS, 0.5, 5 * sqrt(1.0 / 12 / DRAWS));
    cr_assert_float_eq(squares / DRAWS, 1.0 / 3, 5 * sqrt(4.0 / 45 / DRAWS));
}

Test(rng, between_stays_in_its_interval_even_when_rounding_reaches_the_end)
{
    struct rng rng;
    rng_seed(&rng, 4, 4);
    double low = 1.0, high = nextafter(1.0, 2.0);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(rng_between(&rng, low, high), low);
}

Test(rng, normal_has_its_first_four_moments)
{
    struct rng rng;
    rng_seed(&rng, 5, 6);
    enum { DRAWS = 200000 };
    double moment[5] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_normal(&rng);
        cr_assert(isfinite(x));
        for (int k = 1; k <= 4; k++)
            moment[k] += pow(x, k) / DRAWS;
    }
    cr_assert_float_eq(moment[1], 0.0, 5 * sqrt(1.0 / DRAWS));
    cr_assert_float_eq(moment[2], 1.0, 5 * sqrt(2.0 / DRAWS));
    cr_assert_float_eq(moment[3], 0.0, 5 * sqrt(15.0 / DRAWS));
    cr_assert_float_eq(moment[4], 3.0, 5 * sqrt(96.0 / DRAWS));
}
