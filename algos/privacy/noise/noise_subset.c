/* Poisson, fixed-size and binomial sampling. */
#include "algos/privacy/noise/noise_subset.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"

#define SAMPLE_WORDS 512 /* random words fetched at once */

/* COUNT coins that fall for I when a 64-bit uniform integer is below floor(rate 2^64); writes which
 * to CHOSEN unless that is NULL. */
static uint32_t toss(struct noise_source *source, double rate, uint32_t n, uint32_t *chosen)
{
    /* The lower half is drawn only when the upper one does not decide. */
    uint64_t threshold = (uint64_t)ldexp(rate, 64);
    uint32_t high = (uint32_t)(threshold >> 32), low = (uint32_t)threshold;
    uint32_t words[SAMPLE_WORDS], count = 0;
    for (uint32_t start = 0; start < n;) {
        uint32_t part = n - start < SAMPLE_WORDS ? n - start : SAMPLE_WORDS;
        noise_bytes(source, words, part * sizeof words[0]);
        for (uint32_t i = 0; i < part; i++) {
            bool joins = words[i] < high;
            if (words[i] == high)
                joins = (uint32_t)noise_u64(source) < low;
            if (joins && chosen)
                chosen[count] = start + i;
            count += joins;
        }
        start += part;
    }
    explicit_bzero(words, sizeof words);
    return count;
}

uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen)
{
    assert(rate >= 0.0 && rate <= 1.0 && (chosen || !n));
    if (rate < 1.0)
        return toss(source, rate, n, chosen);
    for (uint32_t i = 0; i < n; i++)
        chosen[i] = i;
    return n;
}

uint32_t noise_binomial(struct noise_source *source, double rate, uint32_t n)
{
    assert(rate >= 0.0 && rate <= 1.0);
    return rate < 1.0 ? toss(source, rate, n, NULL) : n;
}

void noise_fixed_sample(struct noise_source *source, uint32_t size, uint32_t n, uint32_t *chosen)
{
    assert(size <= n && (chosen || !size));
    uint32_t count = 0;
    for (uint32_t i = 0; count < size; i++) /* of the n - i that are left, size - count will join */
        if (noise_below(source, n - i) < size - count)
            chosen[count++] = i;
}

uint32_t noise_binomial_sample(struct noise_source *source, double rate, uint32_t n, uint32_t most,
                               uint32_t *chosen)
{
    uint32_t size = noise_binomial(source, rate, n);
    size = size < most ? size : most;
    noise_fixed_sample(source, size, n, chosen);
    return size;
}
