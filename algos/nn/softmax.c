/* Softmax about the largest logit, so that nothing overflows. */
#include "algos/nn/softmax.h"

#include <assert.h>
#include <math.h>

bool softmax(double *x, uint32_t n)
{
    assert(n > 0);
    double top = x[0], sum = 0.0;
    for (uint32_t a = 1; a < n; a++)
        top = fmax(top, x[a]);
    for (uint32_t a = 0; a < n; a++) {
        if (!isfinite(x[a]))
            return false;
        x[a] = exp(x[a] - top);
        sum += x[a];
    }
    for (uint32_t a = 0; a < n; a++)
        x[a] /= sum;
    return true;
}

uint32_t softmax_draw(const double *weights, uint32_t n, double sum, struct rng *rng)
{
    double u = sum * rng_uniform(rng);
    uint32_t drawn = 0;
    while (drawn + 1 < n && u >= weights[drawn])
        u -= weights[drawn++];
    return drawn;
}
