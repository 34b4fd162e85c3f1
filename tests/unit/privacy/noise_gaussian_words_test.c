/* The float sampler at words of the test's choice: what no number of draws would show, because the
 * words are rare. The sampler is compiled once more here, under another name and on top of scripted
 * words; tests.mk has it optimised, so that all words take seconds. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "algos/privacy/noise/noise_continuous.h"

struct scripted_source {
    const uint32_t *words; /* of one block */
    double fine;           /* what noise_uniform_fine gives */
};

static void scripted_bytes(struct scripted_source *source, void *bytes, size_t size)
{
    memcpy(bytes, source->words, size);
}

static double scripted_fine(struct scripted_source *source)
{
    return source->fine;
}

void scripted_gaussian_add(struct scripted_source *source, float *v, size_t count, float stddev);
#define noise_source       scripted_source
#define noise_bytes        scripted_bytes
#define noise_uniform_fine scripted_fine
#define noise_gaussian_add scripted_gaussian_add
// NOLINTNEXTLINE(bugprone-suspicious-include): the same code under other names is the point
#include "algos/privacy/noise/noise_gaussian.c"
#undef noise_source
#undef noise_bytes
#undef noise_uniform_fine
#undef noise_gaussian_add

/* sqrt(-2 ln u), u = (word + 1/2) / 2^32, to double's precision. */
static double exact_radius(uint32_t word)
{
    bool upper = word >> 31;
    double near = ((double)(upper ? ~word : word) + 0.5) * 0x1p-32;
    return sqrt(-2.0 * (upper ? log1p(-near) : log(near)));
}

#define RELATIVE 5e-7 /* what noise_gaussian.c claims */

/* How many of PAIRS words from FIRST on have a radius that is not positive, or that is above
 * *BEFORE, that of the word before, by more than rounding. */
ALWAYS_INLINE uint32_t block_wrong(uint32_t first, float *before)
{
    uint32_t words[PAIRS], wrong = 0;
    float radius[PAIRS + 1];
    for (uint32_t i = 0; i < PAIRS; i++)
        words[i] = first + i;
    radius[0] = *before;
    radii(words, 1.0F, radius + 1);
    for (uint32_t i = 0; i < PAIRS; i++)
        wrong += !((radius[i + 1] > 0.0F) & (radius[i + 1] <= radius[i] * 1.000001F));
    *before = radius[PAIRS];
    return wrong;
}

static uint32_t words_wrong(float *before)
{
    uint32_t wrong = 0;
    for (uint64_t first = 0; first <= UINT32_MAX; first += PAIRS)
        wrong += block_wrong((uint32_t)first, before);
    return wrong;
}

#ifdef WIDE
WIDE static uint32_t words_wrong_wide(float *before)
{
    uint32_t wrong = 0;
    for (uint64_t first = 0; first <= UINT32_MAX; first += PAIRS)
        wrong += block_wrong((uint32_t)first, before);
    return wrong;
}
#else
#define words_wrong_wide words_wrong
#endif

Test(noise_gaussian_words, every_radius_word_gives_a_radius)
{
    float radius = 8.0F;
    uint32_t wrong = has_avx512() ? words_wrong_wide(&radius) : words_wrong(&radius);
    cr_expect_eq(wrong, 0, "%u of 2^32 words", wrong);
    cr_expect_float_eq(radius, sqrt(0x1p-32), 1e-11, "the last word");
}

/* All words near both ends, near the place where the way to compute changes, and some of the rest.
 */
Test(noise_gaussian_words, radii_are_those_of_the_law)
{
    uint32_t words[PAIRS];
    float radius[PAIRS];
    double worst = 0.0;
    for (uint32_t block = 0; block < 3 * 64 + 4096; block++) {
        uint32_t first = block < 64 ? block * PAIRS : 0u - (block - 63) * PAIRS, step = 1;
        if (block >= 128)
            first = ROOT_HALF + (block - 160) * PAIRS;
        if (block >= 192) {
            first = block;
            step = 4194301;
        }
        for (uint32_t i = 0; i < PAIRS; i++)
            words[i] = first + i * step;
        radii(words, 1.0F, radius);
        for (uint32_t i = 0; i < PAIRS; i++)
            worst = fmax(worst, fabs((double)radius[i] / exact_radius(words[i]) - 1.0));
    }
    cr_expect_lt(worst, RELATIVE, "%g", worst);
}

/* How far out the pair of the WORD lies when the bits that refine it are FINE. */
static double refined_length(uint32_t word, double fine)
{
    uint32_t words[2 * PAIRS];
    float v[2 * PAIRS] = {0};
    for (uint32_t i = 0; i < PAIRS; i++) {
        words[i] = word;
        words[PAIRS + i] = 0x9e3779b9u * i;
    }
    struct scripted_source source = {words, fine};
    scripted_gaussian_add(&source, v, 2 * PAIRS, 1.0F);
    double least = INFINITY, most = 0.0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        double length = hypot((double)v[i], (double)v[i + PAIRS]);
        cr_expect(v[i] != 0.0F && v[i + PAIRS] != 0.0F);
        least = fmin(least, length);
        most = fmax(most, length);
    }
    cr_expect_leq(most, least * (1.0 + 1e-6));
    return least;
}

/* The first and the last word have all radii that lie beyond the others: no tail is cut off, and
 * around zero there is no hole. */
Test(noise_gaussian_words, the_ends_are_whole)
{
    static const double fine[] = {0x1p-900, 0x1p-100, 1e-3, 0.5, 0.999};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        double u = fine[i] * 0x1p-32;
        cr_expect_float_eq(refined_length(0, fine[i]) / sqrt(-2.0 * log(u)), 1.0, 1e-6);
        double upper = refined_length(UINT32_MAX, fmax(fine[i], 0x1p-100));
        cr_expect_float_eq(upper / sqrt(2.0 * fmax(u, 0x1p-132)), 1.0, 1e-6);
    }
    double at_end = refined_length(0xffffu, 0.25), inside = refined_length(0x10000u, 0.25);
    cr_expect_float_eq(at_end / exact_radius(0xffffu), 1.0, 1e-5);
    cr_expect_float_eq(inside / exact_radius(0x10000u), 1.0, RELATIVE);
    cr_expect_lt(inside, at_end);
}
