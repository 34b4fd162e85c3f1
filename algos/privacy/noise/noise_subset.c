/* Poisson sampling. */
#include "algos/privacy/noise/noise_subset.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "algos/privacy/noise/noise_source.h"

#define SAMPLE_WORDS 512 /* random words fetched at once */

/* A coin falls for I when a 64-bit uniform integer is below floor(rate 2^64). Its lower half is
 * drawn only when the upper one does not decide. */
uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen)
{
    assert(rate >= 0.0 && rate <= 1.0 && (chosen || !n));
    uint32_t words[SAMPLE_WORDS], count = 0;
    for (uint32_t i = 0; rate == 1.0 && i < n; i++)
        chosen[i] = i;
    if (rate == 1.0)
        return n;
    uint64_t threshold = (uint64_t)ldexp(rate, 64);
    uint32_t high = (uint32_t)(threshold >> 32), low = (uint32_t)threshold;
    for (uint32_t start = 0; start < n;) {
        uint32_t part = n - start < SAMPLE_WORDS ? n - start : SAMPLE_WORDS;
        noise_bytes(source, words, part * sizeof words[0]);
        for (uint32_t i = 0; i < part; i++) {
            bool joins = words[i] < high;
            if (words[i] == high)
                joins = (uint32_t)noise_u64(source) < low;
            if (joins)
                chosen[count++] = start + i;
        }
        start += part;
    }
    explicit_bzero(words, sizeof words);
    return count;
}
