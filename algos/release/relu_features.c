/* Features, their normal equations, and the network that they make. */
#include "algos/release/relu_features.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/cholesky.h"
#include "envs/rng.h"
#include "memory/memory.h"

/* ||phi||^2 is at most the sum of the squared greatest values; the margin pays for floats. */
static void scale_down(struct relu_features *f)
{
    const float *bias = f->weight + (size_t)f->count * f->input;
    double sum = 0.0;
    for (uint32_t i = 0; i < f->count; i++) {
        double most = bias[i];
        for (uint32_t j = 0; j < f->input; j++)
            most += fmax(f->weight[(size_t)i * f->input + j], 0.0);
        most = fmax(most - f->offset[i], f->offset[i]);
        sum += most > 0.0 ? most * most : 0.0;
    }
    double factor = (1.0 - 1e-5) / sqrt(sum);
    size_t all = (size_t)f->count * (f->input + (size_t)1);
    for (size_t k = 0; k < all; k++)
        f->weight[k] = (float)(f->weight[k] * factor);
    for (uint32_t i = 0; i < f->count; i++)
        f->offset[i] = (float)(f->offset[i] * factor);
}

static void draw_hinge(struct rng *rng, uint32_t n, float *weight, float *bias)
{
    double direction[ENV_MAX_STATE_DIM], norm = 0.0, at = 0.0;
    for (uint32_t j = 0; j < n; j++) {
        direction[j] = rng_normal(rng);
        norm += direction[j] * direction[j];
    }
    norm = sqrt(norm);
    for (uint32_t j = 0; j < n; j++) {
        weight[j] = (float)(direction[j] / norm);
        at += weight[j] * rng_uniform(rng);
    }
    *bias = (float)-at;
}

void relu_features_init(struct relu_features *f, uint32_t input, uint32_t count, uint64_t seed,
                        bool centred)
{
    assert(input >= 1 && input <= ENV_MAX_STATE_DIM && count > input && count <= RELU_FEATURES_MAX);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    *f = (struct relu_features){.input = input, .count = count};
    f->weight = memory_new((size_t)count * (input + (size_t)1), sizeof *f->weight);
    f->scratch = memory_new((size_t)count * (count + (size_t)1), sizeof *f->scratch);
    f->offset = memory_new(count, sizeof *f->offset);
    float *bias = f->weight + (size_t)count * input;
    bias[0] = centred ? RELU_FEATURES_CONSTANT : 1.0F;
    for (uint32_t j = 0; j < input; j++) {
        f->weight[(size_t)(j + 1) * input + j] = centred ? 2.0F : 1.0F;
        f->offset[j + 1] = centred ? 1.0F : 0.0F;
    }
    for (uint32_t i = input + 1; i < count; i++)
        draw_hinge(&rng, input, f->weight + (size_t)i * input, &bias[i]);
    scale_down(f);
}

void relu_features_clear(struct relu_features *f)
{
    free(f->weight);
    free(f->offset);
    if (f->scratch) /* of a fit to somebody's states */
        sodium_memzero(f->scratch, (size_t)f->count * (f->count + (size_t)1) * sizeof *f->scratch);
    free(f->scratch);
    *f = (struct relu_features){0};
}

void relu_features_at(const struct relu_features *f, const double *state, double *phi)
{
    const float *bias = f->weight + (size_t)f->count * f->input;
    for (uint32_t i = 0; i < f->count; i++) {
        double x = bias[i];
        for (uint32_t j = 0; j < f->input; j++)
            x += f->weight[(size_t)i * f->input + j] * state[j];
        phi[i] = fmax(x, 0.0) - f->offset[i];
    }
}

void relu_features_fit(struct relu_features *f, const double *states, const double *targets,
                       size_t points, uint32_t actions, double ridge, double *coefficients)
{
    assert(points > 0 && ridge > 0.0);
    size_t n = f->count;
    double *gram = f->scratch, *phi = f->scratch + n * n;
    memset(f->scratch, 0, n * (n + 1) * sizeof *f->scratch);
    memset(coefficients, 0, actions * n * sizeof *coefficients);
    for (size_t p = 0; p < points; p++) {
        relu_features_at(f, states + p * f->input, phi);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++)
                gram[i * n + j] += phi[i] * phi[j];
            for (uint32_t a = 0; a < actions; a++)
                coefficients[a * n + i] += phi[i] * targets[p * actions + a];
        }
    }
    for (size_t i = 0; i < n; i++)
        gram[i * n + i] += ridge * (double)points;
    cholesky_factor(gram, n);
    for (uint32_t a = 0; a < actions; a++)
        cholesky_solve(gram, n, coefficients + a * n);
}

struct policy *relu_features_policy(const struct relu_features *f, const double *low,
                                    const double *high, const double *coefficients,
                                    uint32_t actions)
{
    const struct mlp_shape shape = {
        .input = f->input, .layer_count = 2, .width = {f->count, actions}, .activation = MLP_RELU};
    struct policy *policy = memory_must(policy_new(&shape, POLICY_Q));
    float *weight = policy->parameters, *bias = weight + (size_t)f->count * f->input;
    const float *own_bias = f->weight + (size_t)f->count * f->input;
    for (uint32_t i = 0; i < f->count; i++) {
        double shift = own_bias[i];
        for (uint32_t j = 0; j < f->input; j++) {
            double w = f->weight[(size_t)i * f->input + j] / (high[j] - low[j]);
            weight[(size_t)i * f->input + j] = (float)w;
            shift -= w * low[j];
        }
        bias[i] = (float)shift;
    }
    float *out = bias + f->count;
    for (size_t k = 0; k < (size_t)actions * f->count; k++)
        out[k] = (float)coefficients[k];
    float *out_bias = out + (size_t)actions * f->count;
    for (uint32_t a = 0; a < actions; a++) {
        double constant = 0.0;
        for (uint32_t i = 0; i < f->count; i++)
            constant -= coefficients[(size_t)a * f->count + i] * f->offset[i];
        out_bias[a] = (float)constant;
    }
    return policy;
}
