/* The forward of one input in double, which answers every query of a teacher, and of an ensemble's
 * thousand networks one after the other.
 *
 * DESIGN. A result is the sum of eight sums: number k of a row is in sum k % 8, and the eight are
 * added by twos. That order is fixed: vectors change the time and not the bits. Four rows at a time
 * share the loads of x, and their sums are added across in one go. A row's last numbers, fewer than
 * eight, are completed with zeros: no sum is ever -0, so adding 0 changes none. Rows of four, the
 * first layer of a cart-pole's network, have four sums. */
#include <assert.h>
#include <math.h>
#include <string.h>

#ifdef __AVX__
#include <immintrin.h>
#endif

#include "algos/nn/mlp.h"
#include "envs/lanes.h"

enum { ROWS = 4, SUMS = 8 };

#ifndef __AVX__
typedef float narrow __attribute__((vector_size(4 * sizeof(float))));
#endif

static lanes widen_floats(const float *p)
{
#ifdef __AVX__
    return (lanes)_mm256_cvtps_pd(_mm_loadu_ps(p)); /* gcc 12 makes four instructions of the rest */
#else
    narrow v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, lanes);
#endif
}

/* Lane i: (r[0] + r[1]) + (r[2] + r[3]) of row i. */
static lanes lanes_across(const lanes row[ROWS])
{
    lanes ab = __builtin_shufflevector(row[0], row[1], 0, 4, 2, 6) +
               __builtin_shufflevector(row[0], row[1], 1, 5, 3, 7);
    lanes cd = __builtin_shufflevector(row[2], row[3], 0, 4, 2, 6) +
               __builtin_shufflevector(row[2], row[3], 1, 5, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
           __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/* The sums of two rows of COUNT with X, to which zeros were added up to a multiple of SUMS: numbers
 * 0 to 3 in LOW, the others in HIGH. */
static inline void pair_sums(const float *one, const float *other, const double *x, uint32_t count,
                             lanes low[2], lanes high[2])
{
    lanes a = {0}, b = {0}, c = {0}, d = {0};
    uint32_t k = 0, left = count % SUMS;
    for (; k + SUMS <= count; k += SUMS) {
        lanes first = lanes_load(x + k), second = lanes_load(x + k + 4);
        a += widen_floats(one + k) * first;
        b += widen_floats(other + k) * first;
        c += widen_floats(one + k + 4) * second;
        d += widen_floats(other + k + 4) * second;
    }
    if (left > 0) {
        float rest[2][SUMS] = {{0}};
        lanes first = lanes_load(x + k), second = lanes_load(x + k + 4);
        memcpy(rest[0], one + k, left * sizeof *one);
        memcpy(rest[1], other + k, left * sizeof *other);
        a += widen_floats(rest[0]) * first;
        b += widen_floats(rest[1]) * first;
        c += widen_floats(rest[0] + 4) * second;
        d += widen_floats(rest[1] + 4) * second;
    }
    low[0] = a;
    low[1] = b;
    high[0] = c;
    high[1] = d;
}

/* The products of ROWS rows, of which NEEDED are of interest. */
static inline lanes row_products(const float *const row[ROWS], const double *x, uint32_t count,
                                 uint32_t needed)
{
    lanes low[ROWS] = {{0}}, high[ROWS] = {{0}};
    pair_sums(row[0], row[1], x, count, low, high);
    if (needed > 2)
        pair_sums(row[2], row[3], x, count, low + 2, high + 2);
    return lanes_across(low) + lanes_across(high);
}

/* The same of rows of four, without the empty sums. */
static inline lanes short_products(const float *const row[ROWS], const double *x)
{
    lanes v = lanes_load(x);
    const lanes sums[ROWS] = {widen_floats(row[0]) * v, widen_floats(row[1]) * v,
                              widen_floats(row[2]) * v, widen_floats(row[3]) * v};
    return lanes_across(sums);
}

/* Y[out] = weight x + bias. X has SUMS - 1 places behind its last number. */
static void layer_forward(const float *weight, uint32_t in, uint32_t out, double *x, double *y)
{
    const float *bias = weight + (size_t)in * out;
    for (uint32_t k = in; k % SUMS != 0; k++)
        x[k] = 0.0;
    uint32_t j = 0;
    for (; j + ROWS <= out; j += ROWS) {
        const float *first = weight + (size_t)j * in;
        const float *const row[ROWS] = {first, first + in, first + 2 * (size_t)in,
                                        first + 3 * (size_t)in};
        lanes value = widen_floats(bias + j) +
                      (in == 4 ? short_products(row, x) : row_products(row, x, in, ROWS));
        memcpy(y + j, &value, sizeof value);
    }
    if (j < out) { /* the last row stands in for those that are not there */
        const float *row[ROWS];
        for (uint32_t r = 0; r < ROWS; r++)
            row[r] = weight + (size_t)(j + r < out ? j + r : out - 1) * in;
        lanes value = in == 4 ? short_products(row, x) : row_products(row, x, in, out - j);
        for (uint32_t r = 0; j + r < out; r++)
            y[j + r] = bias[j + r] + value[r];
    }
}

void mlp_forward_double(const struct mlp_shape *shape, const float *parameters, const double *input,
                        double *output)
{
    double half[2][MLP_MAX_WIDTH + SUMS];
    uint32_t last = shape->layer_count - 1;
    const float *weight = parameters;
    assert(mlp_shape_valid(shape));
    memcpy(half[1], input, shape->input * sizeof *input);
    for (uint32_t l = 0; l <= last; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        double *y = half[l & 1];
        layer_forward(weight, in, out, half[(l + 1) & 1], y);
        weight += ((size_t)in + 1) * out;
        if (l == last)
            memcpy(output, y, out * sizeof *y);
        else if (shape->activation == MLP_RELU)
            for (uint32_t j = 0; j < out; j++)
                y[j] = y[j] > 0 ? y[j] : 0;
        else
            for (uint32_t j = 0; j < out; j++)
                y[j] = tanh(y[j]);
    }
}
