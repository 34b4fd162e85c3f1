/* Normals from words: to the last digits, in the middle and in the tails. */
#include "algos/privacy/math/normal_quantile.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/privacy/golden.h"

Test(normal_quantile, golden)
{
    json_t *root = golden_load("normal_quantile.json"), *item;
    size_t i;
    json_array_foreach(json_object_get(root, "normal_from_word"), i, item)
    {
        uint64_t word = strtoull(json_string_value(json_object_get(item, "word")), NULL, 10);
        long double exact = (long double)golden_number(item, "value") + golden_number(item, "rest");
        long double error = normal_from_word(word) - exact;
        cr_expect(fabsl(error) <= 0x1p-61L * fmaxl(1.0L, fabsl(exact)), "word %llu: off by %Lg",
                  (unsigned long long)word, error);
        cr_expect_eq(normal_from_word(word | UINT64_C(1) << 63), -normal_from_word(word));
    }
    cr_assert_geq(i, 30);
    json_decref(root);
}

Test(normal_quantile, increases_across_the_places_where_formulas_change)
{
    static const long double places[] = {0.075L, 1.3887943864964021e-11L /* exp(-25) */, 0.25L};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        long double before = normal_quantile(places[i] * (1.0L - 1e-12L));
        for (int step = -9; step <= 10; step++) {
            long double x = normal_quantile(places[i] * (1.0L + step * 1e-13L));
            cr_assert_gt(x, before, "place %zu, step %d", i, step);
            before = x;
        }
    }
    cr_assert_leq(fabsl(normal_quantile(0.5L)), 0x1p-62L);
    long double deep = normal_quantile(1e-300L); /* mpmath */
    cr_assert_lt(fabsl(deep + 37.047096299361199237L), 0x1p-56L, "%Lg", deep);
}

Test(normal_quantile, words_become_normals)
{
    enum { N = 200000 };
    struct noise_source *noise = golden_noise(600);
    double *sample = malloc(N * sizeof *sample);
    for (int i = 0; i < N; i++)
        sample[i] = (double)normal_from_word(noise_u64(noise));
    double distance = golden_ks(sample, N, golden_normal_cdf);
    cr_assert_lt(distance, KS_LIMIT, "%g", distance);
    free(sample);
    noise_source_free(noise);
}

/* The words that follow: as many zeros as *CONTEXT says, then the middle. */
static uint64_t after_zeros(const void *context, unsigned depth)
{
    return depth <= *(const unsigned *)context ? 0 : UINT64_C(1) << 63;
}

/* The normal of probability p, in logarithms: no tail ends at the last of 64 bits. */
Test(normal_quantile, words_go_on_into_the_tail)
{
    const uint64_t sign = UINT64_C(1) << 63;
    for (unsigned zeros = 0; zeros < 13; zeros++) {
        long double x = normal_from_words(0, after_zeros, &zeros);
        double log2_p = log2(0.5 * erfc((double)-x * M_SQRT1_2));
        cr_expect_float_eq(log2_p, -64.0 * (zeros + 1) - 1.0, 1e-6, "%u: %Lg", zeros, x);
        cr_expect_eq(normal_from_words(sign, after_zeros, &zeros), -x);
    }
    unsigned all = 13, none = 0;
    cr_expect_lt(normal_from_words(0, after_zeros, &all), -34.0L);
    cr_expect_eq(normal_from_words(NORMAL_WORD_TAIL, after_zeros, &none),
                 normal_from_word(NORMAL_WORD_TAIL));
    long double inside = normal_from_words(NORMAL_WORD_TAIL - 1, after_zeros, &none);
    cr_expect_float_eq((double)inside, (double)normal_from_word(NORMAL_WORD_TAIL - 1), 1e-12);
}

Test(normal_quantile, rough_normals_err_ten_times_less_than_allowed)
{
    struct noise_source *noise = golden_noise(601);
    double worst = 0;
    for (int i = 0; i < 400000; i++) {
        uint64_t word = noise_u64(noise) >> (i % 4 ? 0 : i / 4 % 64); /* tails too */
        double error = (double)fabsl(normal_from_word_roughly(word) - normal_from_word(word));
        worst = fmax(worst, error);
    }
    cr_assert_lt(worst, NORMAL_ROUGH_ERROR / 10.0, "%g", worst);
    cr_assert_gt(worst, 0.0);
    noise_source_free(noise);
}
