/* Forcing a network into a Lipschitz class.
 *
 * DESIGN. Only the released weights need to be in the class, so nothing happens in training: layers
 * are scaled once, afterwards. A scaled weight is rounded to float32, which may raise a norm by
 * 2^-24 of the Frobenius norm; so the certificate is computed again from the rounded weights, and
 * the factor lowered until it holds. The last certificate is the claim; nothing else is trusted.
 * The released function is evaluated in double: with float32 its rounding would be what a patient
 * reader of neighbouring points learns of the weights. */
#include "algos/nn/lipschitz_class.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/nn/lipschitz.h"

#define MAX_TRIES 40
#define HALF_ULP  0x1p-53

const char *lipschitz_class_problem(const struct lipschitz_class *class)
{
    if (!(class->lipschitz >= 1e-6 && class->lipschitz <= 1e12))
        return "lipschitz must be from 1e-6 to 1e12";
    if (!(class->value_limit >= 1e-12 && class->value_limit <= 1e12))
        return "value_limit must be from 1e-12 to 1e12";
    return NULL;
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static void scale(float *values, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(values[i] * factor);
}

static void scale_layers(const struct mlp_shape *shape, float *parameters, double factor)
{
    double bias_factor = 1.0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        size_t weights = (size_t)mlp_layer_input(shape, l) * shape->width[l];
        bias_factor *= factor;
        scale(parameters + mlp_weight_offset(shape, l), weights, factor);
        if (shape->activation == MLP_RELU)
            scale(parameters + mlp_bias_offset(shape, l), shape->width[l], bias_factor);
    }
}

double lipschitz_project(const struct mlp_shape *shape, float *parameters, double limit)
{
    assert(mlp_shape_valid(shape) && parameters && limit > 0.0);
    if (!all_finite(parameters, mlp_parameter_count(shape)))
        return INFINITY;
    double slack = 0x1p-40;
    for (int t = 0; t < MAX_TRIES; t++) {
        double bound = lipschitz_mlp_bound(shape, parameters);
        if (bound <= limit) /* also when memory is short: negative */
            return bound;
        /* a bound beyond double's range still comes down, in steps */
        double ratio = isinf(bound) ? 1e-30 : limit / bound;
        scale_layers(shape, parameters, pow(ratio * (1.0 - slack), 1.0 / shape->layer_count));
        slack *= 4.0; /* reaches 2^-2 after 19 rounds: rounding is overtaken long before */
        slack = fmin(slack, 0.5);
    }
    /* Weights at the end of float's range do not shrink any more: zero is in every class. */
    memset(parameters, 0, mlp_parameter_count(shape) * sizeof *parameters);
    return 0.0;
}

void lipschitz_clamp_input(const double *x, double *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = x[i] > 0.0 ? fmin(x[i], 1.0) : 0.0; /* NaN and -0 become 0 */
}

void lipschitz_clamp_output(double *values, size_t count, double limit)
{
    assert(limit > 0.0);
    for (size_t i = 0; i < count; i++) {
        double value = isnan(values[i]) ? 0.0 : values[i];
        values[i] = value > limit ? limit : value < -limit ? -limit : value;
    }
}

size_t lipschitz_class_scratch_count(const struct mlp_shape *shape)
{
    return shape->input; /* the clamped input */
}

void lipschitz_class_evaluate(const struct lipschitz_class *class, const struct mlp_shape *shape,
                              const float *parameters, const double *input, double *output,
                              double *scratch)
{
    double *x = scratch;
    lipschitz_clamp_input(input, x, shape->input);
    mlp_forward_double(shape, parameters, x, output);
    uint32_t last = shape->layer_count - 1;
    lipschitz_clamp_output(output, shape->width[last], class->value_limit);
}

static double norm(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * values[i];
    return sqrt(sum) * (1.0 + HALF_ULP * ((double)count + 4.0));
}

double lipschitz_class_error_bound(const struct mlp_shape *shape, const float *parameters)
{
    assert(mlp_shape_valid(shape) && parameters);
    if (!all_finite(parameters, mlp_parameter_count(shape)))
        return INFINITY;
    double size = sqrt((double)shape->input) * (1.0 + 4.0 * HALF_ULP), error = 0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        size_t in = mlp_layer_input(shape, l), out = shape->width[l];
        const float *weight = parameters + mlp_weight_offset(shape, l);
        double spectral = lipschitz_spectral_norm_bound(weight, out, in);
        if (spectral < 0.0)
            return spectral;
        double bias = norm(parameters + mlp_bias_offset(shape, l), out);
        /* A row's sum is off by gamma(in + 2) times the sum of its terms' sizes, which is at most
         * row norm times |computed input|, plus the bias (Higham 2002, section 3.1). */
        double gamma = HALF_ULP * ((double)in + 2.0) * (1.0 + 1e-9);
        error = spectral * error + gamma * (norm(weight, out * in) * (size + error) + bias);
        size = spectral * size + bias;
        if (l + 1 < shape->layer_count && shape->activation == MLP_TANH) {
            error += 8.0 * HALF_ULP * sqrt((double)out); /* libm's tanh: two units at most */
            size = fmin(size, sqrt((double)out) * (1.0 + 4.0 * HALF_ULP));
        }
    }
    return error * (1.0 + 1e-9);
}
