/* Gamma variates in the log domain and Poisson sampling of batches. */
#include "algos/privacy/noise.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SAMPLE_WORDS 512 /* random words fetched at once */

/* Marsaglia and Tsang 2000, "A simple method for generating gamma variables", for shape >= 1. */
static double log_gamma_from_one(struct noise_source *source, double shape)
{
    double d = shape - 1.0 / 3.0;
    double c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = noise_normal(source);
        double base = 1.0 + c * x;
        if (base <= 0.0)
            continue;
        double log_v = 3.0 * log(base);
        double v = exp(log_v);
        if (log(noise_uniform(source)) < 0.5 * x * x + d * (1.0 - v + log_v))
            return log(d) + log_v;
    }
}

double noise_log_gamma(struct noise_source *source, double shape)
{
    assert(shape > 0.0 && isfinite(shape));
    if (shape >= 1.0)
        return log_gamma_from_one(source, shape);
    /* G(a) = G(a+1) U^(1/a): as logarithms nothing underflows, however small the shape. */
    double up = log_gamma_from_one(source, shape + 1.0);
    return up + log(noise_uniform(source)) / shape;
}

uint32_t noise_poisson_sample(struct noise_source *source, double rate, uint32_t n,
                              uint32_t *chosen)
{
    assert(rate >= 0.0 && rate <= 1.0 && (chosen || !n));
    uint32_t count = 0;
    if (rate >= 1.0) {
        for (; count < n; count++)
            chosen[count] = count;
        return count;
    }
    /* I joins when a 64-bit uniform integer is below floor(rate 2^64): never more often than RATE,
     * and less by at most 2^-64. The lower half is drawn only when the upper one does not decide.
     */
    uint64_t threshold = (uint64_t)ldexp(rate, 64);
    uint32_t high = (uint32_t)(threshold >> 32), low = (uint32_t)threshold;
    uint32_t words[SAMPLE_WORDS];
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
