/* Orthogonal weights by Gram and Schmidt's process on normal draws, in double. */
#include "algos/online/orthogonal.h"

#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

static double dot_doubles(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Row K of VECTORS[. x n] becomes a unit vector orthogonal to those before it (k < n). */
static void draw_orthogonal(double *vectors, size_t k, size_t n, struct rng *rng)
{
    double *v = vectors + k * n;
    double length;
    do {
        for (size_t i = 0; i < n; i++)
            v[i] = rng_normal(rng);
        /* Twice is enough for full precision (Giraud et al. 2005). */
        for (int pass = 0; pass < 2; pass++) {
            for (size_t j = 0; j < k; j++) {
                double along = dot_doubles(v, vectors + j * n, n);
                for (size_t i = 0; i < n; i++)
                    v[i] -= along * vectors[j * n + i];
            }
        }
        length = sqrt(dot_doubles(v, v, n));
    } while (length < 1e-6); /* almost surely false; an unlucky draw is drawn again */
    for (size_t i = 0; i < n; i++)
        v[i] /= length;
}

void orthogonal_initialize(const struct mlp_shape *shape, struct rng *rng, double hidden_gain,
                           double output_gain, float *parameters)
{
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        size_t in = mlp_layer_input(shape, l), out = shape->width[l];
        size_t few = in < out ? in : out, many = in < out ? out : in;
        double gain = l + 1 == shape->layer_count ? output_gain : hidden_gain;
        double *vectors = memory_new(few * many, sizeof *vectors);
        for (size_t k = 0; k < few; k++)
            draw_orthogonal(vectors, k, many, rng);
        float *weight = parameters + mlp_weight_offset(shape, l);
        for (size_t o = 0; o < out; o++) {
            for (size_t i = 0; i < in; i++) {
                double x = out <= in ? vectors[o * many + i] : vectors[i * many + o];
                weight[o * in + i] = (float)(gain * x);
            }
        }
        for (size_t o = 0; o < out; o++)
            weight[in * out + o] = 0.0F;
        free(vectors);
    }
}
