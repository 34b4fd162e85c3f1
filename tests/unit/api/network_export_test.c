/* Networks as files: what other programs find in safetensors and ONNX is the network, to the bit.
 * ONNX is read here field by field with a reader of its own, by the numbers of onnx.proto; that
 * onnx and onnxruntime take it too is shown in docs/q-releases.md. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/policies/network_export.h"
#include "api/policies/network_json.h"
#include "envs/rng.h"
#include "tests/unit/api/domain.h"

/* A deep network and a linear one. */
enum { SHAPES = 2 };
static const struct mlp_shape shapes[SHAPES] = {
    {.input = 3, .layer_count = 3, .width = {300, 5, 2}},
    {.input = 3, .layer_count = 1, .width = {2}},
};

static struct policy *network(int which, enum mlp_activation activation, enum policy_output output)
{
    struct mlp_shape shape = shapes[which];
    shape.activation = activation;
    struct policy *policy = policy_new(&shape, output);
    struct rng rng;
    rng_seed(&rng, 1, 2);
    for (size_t i = 0; i < mlp_parameter_count(&shape); i++)
        policy->parameters[i] = (float)rng_normal(&rng);
    return policy;
}

/* The numbers of tensor NAME of FILE, whose tensors begin at DATA, are those of POLICY at AT. */
static void expect_tensor(const json_t *header, const char *name, const char *data,
                          const struct policy *policy, size_t at, size_t count)
{
    json_t *one = json_object_get(header, name), *shape = json_object_get(one, "shape"), *side;
    const json_t *offsets = json_object_get(one, "data_offsets");
    json_int_t from = json_integer_value(json_array_get(offsets, 0)),
               to = json_integer_value(json_array_get(offsets, 1)), numbers = 1;
    size_t i;
    json_array_foreach(shape, i, side) numbers *= json_integer_value(side);
    cr_assert_eq((size_t)numbers, count, "%s", name);
    cr_assert_eq((size_t)(to - from), count * sizeof(float), "%s", name);
    cr_expect_eq(memcmp(data + from, policy->parameters + at, count * sizeof(float)), 0, "%s",
                 name);
}

Test(network_export, safetensors_hold_every_number)
{
    for (int which = 0; which < SHAPES; which++) {
        struct policy *policy = network(which, MLP_RELU, POLICY_Q);
        const struct mlp_shape *shape = &policy->shape;
        size_t size = 0, count = mlp_parameter_count(shape);
        char *file = network_safetensors(policy, &size), name[32];
        uint64_t length;
        memcpy(&length, file, 8);
        cr_assert_eq(length % 8, 0);
        cr_assert_eq(size, 8 + length + count * sizeof(float));
        json_t *header = json_loadb(file + 8, length, 0, NULL);
        cr_assert_not_null(header);
        const json_t *metadata = json_object_get(header, "__metadata__");
        cr_expect_str_eq(json_string_value(json_object_get(metadata, "output")), "q");
        cr_expect_eq(json_object_size(header), 2 * shape->layer_count + 1);
        for (uint32_t l = 0; l < shape->layer_count; l++) {
            size_t out = shape->width[l], in = mlp_layer_input(shape, l);
            snprintf(name, sizeof name, "layers.%u.weight", l);
            expect_tensor(header, name, file + 8 + length, policy, mlp_weight_offset(shape, l),
                          out * in);
            snprintf(name, sizeof name, "layers.%u.bias", l);
            expect_tensor(header, name, file + 8 + length, policy, mlp_bias_offset(shape, l), out);
        }
        json_decref(header);
        free(file);
        policy_free(policy);
    }
}

Test(network_export, json_holds_every_number)
{
    for (int which = 0; which < SHAPES; which++) {
        struct policy *policy = network(which, MLP_TANH, POLICY_SOFTMAX);
        const struct mlp_shape *shape = &policy->shape;
        size_t size = 0;
        char *text = network_write(policy, &size);
        json_t *json = json_loadb(text, size, 0, NULL), *layers = json_object_get(json, "layers");
        cr_expect_str_eq(json_string_value(json_object_get(json, "activation")), "tanh");
        cr_expect_str_eq(json_string_value(json_object_get(json, "output")), "softmax");
        cr_assert_eq(json_array_size(layers), shape->layer_count);
        for (uint32_t l = 0; l < shape->layer_count; l++) {
            const json_t *layer = json_array_get(layers, l);
            const json_t *weight = json_object_get(layer, "weight"),
                         *bias = json_object_get(layer, "bias");
            const float *w = policy->parameters + mlp_weight_offset(shape, l),
                        *b = policy->parameters + mlp_bias_offset(shape, l);
            uint32_t in = mlp_layer_input(shape, l);
            cr_assert_eq(json_array_size(weight), shape->width[l]);
            cr_assert_eq(json_array_size(bias), shape->width[l]);
            for (uint32_t r = 0; r < shape->width[l]; r++) {
                const json_t *row = json_array_get(weight, r);
                cr_assert_eq(json_array_size(row), in);
                cr_expect_eq((float)json_number_value(json_array_get(bias, r)), b[r]);
                for (uint32_t c = 0; c < in; c++)
                    cr_expect_eq((float)json_number_value(json_array_get(row, c)), w[r * in + c]);
            }
        }
        json_decref(json);
        free(text);
        policy_free(policy);
    }
}

/* ---- a reader of protocol buffers */

struct field {
    unsigned number;
    uint64_t integer; /* of a varint */
    const unsigned char *bytes;
    size_t size; /* of bytes */
};

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        cr_assert(*at < end);
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    cr_assert_fail("a varint without end");
    return 0;
}

/* The next field of a message; false at its end. */
static bool next(const unsigned char **at, const unsigned char *end, struct field *out)
{
    if (*at == end)
        return false;
    uint64_t tag = varint(at, end);
    *out = (struct field){.number = (unsigned)(tag >> 3)};
    if ((tag & 7) == 0) {
        out->integer = varint(at, end);
        return true;
    }
    cr_assert_eq(tag & 7, 2);
    out->size = varint(at, end);
    cr_assert_leq(out->size, (size_t)(end - *at));
    out->bytes = *at;
    *at += out->size;
    return true;
}

/* Field NUMBER of MESSAGE, the WHICH-th of them; bytes NULL: none. */
static struct field get(const struct field *message, unsigned number, unsigned which)
{
    const unsigned char *at = message->bytes, *end = at + message->size;
    struct field field;
    while (next(&at, end, &field))
        if (field.number == number && which-- == 0)
            return field;
    return (struct field){0};
}

static bool is(const struct field *field, const char *text)
{
    return field->bytes && field->size == strlen(text) &&
           memcmp(field->bytes, text, field->size) == 0;
}

/* Runs the graph at STATE into OUT[2]: nodes in their order, names as they are wired. */
static void run_graph(const struct field *graph, const float *state, const char *result,
                      double *out)
{
    struct value {
        struct field name;
        size_t count;
        double x[300];
    };
    struct value *values = calloc(8, sizeof *values);
    unsigned known = 1;
    values[0].name = get(
        &(struct field){.bytes = get(graph, 11, 0).bytes, .size = get(graph, 11, 0).size}, 1, 0);
    values[0].count = 3;
    for (int i = 0; i < 3; i++)
        values[0].x[i] = (double)state[i];
    for (unsigned n = 0;; n++) {
        struct field node = get(graph, 1, n);
        if (!node.bytes)
            break;
        struct field input = get(&node, 1, 0), type = get(&node, 4, 0);
        struct value *from = NULL, *to = &values[known++];
        for (unsigned v = 0; v + 1 < known; v++)
            if (values[v].name.size == input.size &&
                memcmp(values[v].name.bytes, input.bytes, input.size) == 0)
                from = &values[v];
        cr_assert_not_null(from);
        to->name = get(&node, 2, 0);
        if (!is(&type, "Gemm")) {
            bool tanh_ = is(&type, "Tanh");
            cr_assert(tanh_ || is(&type, "Relu"));
            to->count = from->count;
            for (size_t i = 0; i < from->count; i++)
                to->x[i] = tanh_ ? tanh(from->x[i]) : fmax(from->x[i], 0);
            continue;
        }
        struct field attribute = get(&node, 5, 0), name = get(&attribute, 1, 0);
        cr_assert(is(&name, "transB") && get(&attribute, 3, 0).integer == 1 &&
                  get(&attribute, 20, 0).integer == 2);
        struct field tensor[2] = {{0}};
        for (unsigned k = 0; k < 2; k++) {
            struct field wanted = get(&node, 1, k + 1);
            for (unsigned t = 0;; t++) {
                struct field one = get(graph, 5, t), own = get(&one, 8, 0);
                cr_assert_not_null(one.bytes);
                if (own.size == wanted.size && !memcmp(own.bytes, wanted.bytes, own.size)) {
                    tensor[k] = one;
                    break;
                }
            }
            cr_assert_eq(get(&tensor[k], 2, 0).integer, 1);
        }
        size_t rows = get(&tensor[0], 1, 0).integer, columns = get(&tensor[0], 1, 1).integer;
        cr_assert_eq(columns, from->count);
        cr_assert_eq(get(&tensor[1], 1, 0).integer, rows);
        struct field w = get(&tensor[0], 9, 0), b = get(&tensor[1], 9, 0);
        cr_assert(w.size == rows * columns * 4 && b.size == rows * 4);
        to->count = rows;
        for (size_t r = 0; r < rows; r++) {
            float number;
            memcpy(&number, b.bytes + 4 * r, 4);
            to->x[r] = (double)number;
            for (size_t c = 0; c < columns; c++) {
                memcpy(&number, w.bytes + 4 * (r * columns + c), 4);
                to->x[r] += (double)number * from->x[c];
            }
        }
    }
    struct field output = get(graph, 12, 0), name = get(&output, 1, 0);
    cr_assert(is(&name, result));
    cr_assert(is(&values[known - 1].name, result));
    memcpy(out, values[known - 1].x, 2 * sizeof *out);
    free(values);
}

Test(network_export, onnx_computes_the_network)
{
    static const struct {
        enum mlp_activation activation;
        enum policy_output output;
        const char *result;
    } kinds[] = {{MLP_RELU, POLICY_Q, "values"},
                 {MLP_TANH, POLICY_SOFTMAX, "logits"},
                 {MLP_RELU, POLICY_ARGMAX, "scores"}};
    for (int k = 0; k < 3 * SHAPES; k++) {
        struct policy *policy = network(k / 3, kinds[k % 3].activation, kinds[k % 3].output);
        size_t size = 0;
        char *file = network_onnx(policy, &size);
        const struct field model = {.bytes = (unsigned char *)file, .size = size};
        cr_expect_eq(get(&model, 1, 0).integer, 7);
        struct field opset = get(&model, 8, 0), graph = get(&model, 7, 0);
        cr_expect_eq(get(&opset, 2, 0).integer, 13);
        const float state[3] = {0.3F, -1.2F, 0.7F};
        float expected[2], *scratch = calloc(mlp_scratch_count(&policy->shape), sizeof *scratch);
        double seen[2];
        mlp_forward_one(&policy->shape, policy->parameters, state, expected, scratch);
        run_graph(&graph, state, kinds[k % 3].result, seen);
        for (int a = 0; a < 2; a++)
            cr_expect_float_eq(seen[a], (double)expected[a], 1e-3 + 1e-5 * fabs(seen[a]));
        free(scratch);
        free(file);
        policy_free(policy);
    }
}
