/* Welford's recurrence (1962) in double, one row after the other: few numbers, any order of sizes.
 */
#include "algos/online/normalizer.h"

#include <assert.h>
#include <math.h>

static void normalizer_add(struct normalizer *n, uint32_t k, double x)
{
    double difference = x - n->mean[k];
    n->mean[k] += difference / n->count;
    n->squares[k] += difference * (x - n->mean[k]);
}

void normalizer_see_one(struct normalizer *n, double x)
{
    n->count += 1.0;
    normalizer_add(n, 0, x);
}

void normalizer_see(struct normalizer *n, uint32_t dim, const float *rows, size_t count)
{
    assert(dim <= ENV_MAX_STATE_DIM);
    for (size_t i = 0; i < count; i++) {
        n->count += 1.0;
        for (uint32_t k = 0; k < dim; k++)
            normalizer_add(n, k, rows[i * dim + k]);
    }
}

double normalizer_deviation(const struct normalizer *n, uint32_t k)
{
    if (n->count < 2.0)
        return 1.0;
    return fmax(sqrt(n->squares[k] / n->count), NORMALIZER_LEAST_DEVIATION);
}

static double normalizer_mean(const struct normalizer *n, uint32_t k)
{
    return n->count < 2.0 ? 0.0 : n->mean[k];
}

void normalizer_apply(const struct normalizer *n, uint32_t dim, const float *rows, size_t count,
                      float *out)
{
    assert(dim <= ENV_MAX_STATE_DIM);
    double factor[ENV_MAX_STATE_DIM] = {0}, mean[ENV_MAX_STATE_DIM] = {0};
    for (uint32_t k = 0; k < dim; k++) {
        factor[k] = 1.0 / normalizer_deviation(n, k);
        mean[k] = normalizer_mean(n, k);
    }
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < dim; k++)
            out[i * dim + k] = (float)((rows[i * dim + k] - mean[k]) * factor[k]);
}

void normalizer_fold(const struct normalizer *n, const struct mlp_shape *shape, float *parameters)
{
    uint32_t in = shape->input, out = shape->width[0];
    float *weight = parameters + mlp_weight_offset(shape, 0);
    float *bias = parameters + mlp_bias_offset(shape, 0);
    assert(in <= ENV_MAX_STATE_DIM);
    for (uint32_t o = 0; o < out; o++) {
        double sum = bias[o];
        for (uint32_t k = 0; k < in; k++) {
            double plain = weight[(size_t)o * in + k] / normalizer_deviation(n, k);
            sum -= plain * normalizer_mean(n, k);
            weight[(size_t)o * in + k] = (float)plain;
        }
        bias[o] = (float)sum;
    }
}
