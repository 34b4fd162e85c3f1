/* Networks between JSON and parameter vectors. Shapes are checked before anything is allocated for
 * them, so that a short body cannot ask for a large network. */
#include "api/policies/network_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/call.h"
#include "api/call/fields.h"
#include "memory/memory.h"

static const char *const activation_names[] = {[MLP_RELU] = "relu", [MLP_TANH] = "tanh", NULL};
static const char *const output_names[] = {
    [POLICY_SOFTMAX] = "softmax", [POLICY_ARGMAX] = "argmax", [POLICY_Q] = "q", NULL};
static const char two_heads[] = "bcq"; /* written, never read: a trained policy alone has it */

#define POINTER_SIZE 160

struct layer {
    json_t *weight, *bias;
};

static bool read_layer(struct call *call, const json_t *object, const char *pointer,
                       struct layer *out)
{
    const struct field fields[] = {
        field_array("weight", &out->weight, 1, MLP_MAX_WIDTH),
        field_array("bias", &out->bias, 1, MLP_MAX_WIDTH),
    };
    if (!fields_read(call, object, pointer, fields, 2))
        return false;
    if (json_array_size(out->weight) != json_array_size(out->bias)) {
        call_invalid(call, pointer, "must have as many rows in weight as numbers in bias");
        return false;
    }
    return true;
}

/* Reads the layers' arrays into OUT, and SHAPE's widths from their sizes. */
static bool network_read_shape(struct call *call, const json_t *layers, const char *pointer,
                               struct mlp_shape *shape, struct layer *out)
{
    bool good = true;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        char at[POINTER_SIZE];
        snprintf(at, sizeof at, "%s/layers/%u", pointer, l);
        if (!read_layer(call, json_array_get(layers, l), at, &out[l])) {
            good = false;
            continue;
        }
        shape->width[l] = (uint32_t)json_array_size(out[l].bias);
    }
    return good;
}

static bool read_floats(struct call *call, const json_t *array, const char *pointer, float *out,
                        uint32_t count, double *scratch)
{
    if (fields_numbers(call, array, pointer, scratch, count, true) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (float)scratch[i];
        if (!isfinite(out[i])) {
            call_invalid(call, pointer, "has a number beyond the range of a 32-bit float");
            return false;
        }
    }
    return true;
}

static bool network_read_parameters(struct call *call, const struct layer *layers,
                                    const char *pointer, struct policy *policy)
{
    const struct mlp_shape *shape = &policy->shape;
    double scratch[MLP_MAX_WIDTH];
    bool good = true;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t inputs = mlp_layer_input(shape, l);
        char at[POINTER_SIZE];
        for (uint32_t row = 0; row < shape->width[l]; row++) {
            float *to = policy->parameters + mlp_weight_offset(shape, l) + (size_t)row * inputs;
            snprintf(at, sizeof at, "%s/layers/%u/weight/%u", pointer, l, row);
            const json_t *weights = json_array_get(layers[l].weight, row);
            good = read_floats(call, weights, at, to, inputs, scratch) && good;
        }
        snprintf(at, sizeof at, "%s/layers/%u/bias", pointer, l);
        float *bias = policy->parameters + mlp_bias_offset(shape, l);
        good = read_floats(call, layers[l].bias, at, bias, shape->width[l], scratch) && good;
    }
    return good;
}

/* True when every row of every weight has as many numbers as the shape says, so that the body
 * really holds that many. */
static bool rows_fit(struct call *call, const struct mlp_shape *shape, const struct layer *layers,
                     const char *pointer)
{
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t inputs = mlp_layer_input(shape, l);
        for (uint32_t row = 0; row < shape->width[l]; row++) {
            const json_t *numbers = json_array_get(layers[l].weight, row);
            if (!json_is_array(numbers) || json_array_size(numbers) != inputs) {
                char at[POINTER_SIZE];
                snprintf(at, sizeof at, "%s/layers/%u/weight/%u", pointer, l, row);
                call_invalid(call, at, "must be an array of %u numbers", inputs);
                return false;
            }
        }
    }
    return true;
}

struct policy *network_read(struct call *call, const json_t *object, const char *pointer,
                            uint32_t state_dim, uint32_t action_count)
{
    int activation = 0, output = 0;
    json_t *list = NULL, *carried = NULL; /* a certificate, of another network by now */
    const struct field fields[] = {
        field_choice("activation", &activation, activation_names),
        field_array("layers", &list, 1, MLP_MAX_LAYERS),
        field_choice("output", &output, output_names),
        field_optional(field_any("certificate", &carried)),
    };
    if (!fields_read(call, object, pointer, fields, 4))
        return NULL;
    struct layer layers[MLP_MAX_LAYERS] = {{NULL, NULL}};
    struct mlp_shape shape = {.input = state_dim,
                              .layer_count = (uint32_t)json_array_size(list),
                              .activation = (enum mlp_activation)activation};
    if (!network_read_shape(call, list, pointer, &shape, layers))
        return NULL;
    if (shape.width[shape.layer_count - 1] != action_count) {
        char at[POINTER_SIZE];
        snprintf(at, sizeof at, "%s/layers/%u/bias", pointer, shape.layer_count - 1);
        call_invalid(call, at, "must have one number per action: %u", action_count);
        return NULL;
    }
    if (!mlp_shape_valid(&shape)) {
        call_invalid(call, pointer, "is no network of a size that is offered");
        return NULL;
    }
    if (!rows_fit(call, &shape, layers, pointer))
        return NULL;
    struct policy *policy = memory_must(policy_new(&shape, (enum policy_output)output));
    if (!network_read_parameters(call, layers, pointer, policy)) {
        policy_free(policy);
        return NULL;
    }
    return policy;
}

/* ---- writing */

const char *network_activation_name(enum mlp_activation activation)
{
    return activation_names[activation];
}

const char *network_output_name(enum policy_output output)
{
    if (output == POLICY_BCQ)
        return two_heads;
    return output_names[output];
}

#define NUMBER_ROOM 16 /* "-1.23456789e-38," */

static char *network_write_numbers(char *to, const float *numbers, uint32_t count)
{
    *to++ = '[';
    for (uint32_t i = 0; i < count; i++) {
        /* Nine digits identify every float32. */
        to += snprintf(to, NUMBER_ROOM + 1, "%.9g,", (double)numbers[i]);
    }
    to[-1] = ']'; /* in place of the last comma: there is always a number */
    return to;
}

static char *write_layer(char *to, const struct policy *policy, uint32_t layer)
{
    const struct mlp_shape *shape = &policy->shape;
    uint32_t inputs = mlp_layer_input(shape, layer);
    const float *weight = policy->parameters + mlp_weight_offset(shape, layer);
    if (layer > 0)
        *to++ = ',';
    to += sprintf(to, "{\"weight\":[");
    for (uint32_t row = 0; row < shape->width[layer]; row++) {
        if (row > 0)
            *to++ = ',';
        to = network_write_numbers(to, weight + (size_t)row * inputs, inputs);
    }
    to += sprintf(to, "],\"bias\":");
    to = network_write_numbers(to, policy->parameters + mlp_bias_offset(shape, layer),
                               shape->width[layer]);
    *to++ = '}';
    return to;
}

char *network_write(const struct policy *policy, size_t *out_size)
{
    const struct mlp_shape *shape = &policy->shape;
    size_t rows = 0;
    for (uint32_t l = 0; l < shape->layer_count; l++)
        rows += shape->width[l];
    size_t room =
        mlp_parameter_count(shape) * NUMBER_ROOM + rows * 4 + (size_t)shape->layer_count * 40 + 128;
    char *text = malloc(room);
    if (!text)
        return NULL;
    char *to = text + sprintf(text, "{\"activation\":\"%s\",\"layers\":[",
                              network_activation_name(shape->activation));
    for (uint32_t l = 0; l < shape->layer_count; l++)
        to = write_layer(to, policy, l);
    if (policy->output == POLICY_BCQ) {
        to += sprintf(to, "],\"output\":\"%s\",\"threshold\":%.9g}",
                      network_output_name(policy->output), (double)policy->threshold);
    } else {
        to += sprintf(to, "],\"output\":\"%s\"}", network_output_name(policy->output));
    }
    *out_size = (size_t)(to - text);
    return text;
}
