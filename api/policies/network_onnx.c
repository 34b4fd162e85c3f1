/* Writes ONNX, a protocol buffer, by hand: a perceptron needs six of its messages.
 *
 * DESIGN. Two passes over the same code: without room, bytes are counted; with it, they are
 * written. A message inside of another comes with its length before it, which its own counting pass
 * gives. Field numbers are those of onnx.proto (IR version 7, opset 13), named where they are used.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policies/network_export.h"

enum { VARINT = 0, BYTES = 2 };                  /* wire types */
enum { ONNX_FLOAT = 1, ONNX_ATTRIBUTE_INT = 2 }; /* of TensorProto and AttributeProto */

struct writer {
    unsigned char *room; /* NULL: count */
    size_t size;
};

static void onnx_put_byte(struct writer *w, unsigned byte)
{
    if (w->room)
        w->room[w->size] = (unsigned char)byte;
    w->size++;
}

static void onnx_put_varint(struct writer *w, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        onnx_put_byte(w, (unsigned)(value & 127) | 128);
    onnx_put_byte(w, (unsigned)value);
}

static void onnx_put_integer(struct writer *w, unsigned field, uint64_t value)
{
    onnx_put_varint(w, field << 3 | VARINT);
    onnx_put_varint(w, value);
}

static void onnx_put_bytes(struct writer *w, unsigned field, const void *bytes, size_t size)
{
    onnx_put_varint(w, field << 3 | BYTES);
    onnx_put_varint(w, size);
    if (w->room)
        memcpy(w->room + w->size, bytes, size);
    w->size += size;
}

static void onnx_put_text(struct writer *w, unsigned field, const char *text)
{
    onnx_put_bytes(w, field, text, strlen(text));
}

/* The data from which a message is written. */
struct part {
    const struct policy *policy;
    uint32_t layer;
    bool bias, last;
    const char *name;
    uint32_t width;
};

static void onnx_put_message(struct writer *w, unsigned field,
                             void (*body)(struct writer *w, const struct part *part),
                             const struct part *part)
{
    struct writer count = {NULL, 0};
    body(&count, part);
    onnx_put_varint(w, field << 3 | BYTES);
    onnx_put_varint(w, count.size);
    body(w, part);
}

static const char *onnx_output_name(const struct policy *policy)
{
    static const char *const names[] = {[POLICY_SOFTMAX] = "logits",
                                        [POLICY_ARGMAX] = "scores",
                                        [POLICY_Q] = "values",
                                        [POLICY_BCQ] = "heads"};
    return names[policy->output];
}

/* ---- tensors */

static void onnx_tensor(struct writer *w, const struct part *part)
{
    const struct mlp_shape *shape = &part->policy->shape;
    uint32_t in = mlp_layer_input(shape, part->layer), out = shape->width[part->layer];
    size_t at = mlp_weight_offset(shape, part->layer), count = (size_t)in * out;
    const char *kind = "weight";
    if (part->bias) {
        at = mlp_bias_offset(shape, part->layer);
        count = out;
        kind = "bias";
    }
    char name[32];
    snprintf(name, sizeof name, "layers.%u.%s", part->layer, kind);
    onnx_put_integer(w, 1, out); /* dims */
    if (!part->bias)
        onnx_put_integer(w, 1, in);
    onnx_put_integer(w, 2, ONNX_FLOAT);
    onnx_put_text(w, 8, name);
    onnx_put_bytes(w, 9, part->policy->parameters + at, count * sizeof(float)); /* raw_data */
}

/* ---- nodes: Gemm with the weight transposed, then what follows it */

static void onnx_trans_b(struct writer *w, const struct part *part)
{
    (void)part;
    onnx_put_text(w, 1, "transB");
    onnx_put_integer(w, 3, 1);
    onnx_put_integer(w, 20, ONNX_ATTRIBUTE_INT);
}

static void onnx_layer_node(struct writer *w, const struct part *part)
{
    char from[32] = "state", to[32], weight[32], bias[32], name[32];
    if (part->layer > 0)
        snprintf(from, sizeof from, "hidden.%u", part->layer - 1);
    snprintf(to, sizeof to, "sum.%u", part->layer);
    if (part->last)
        snprintf(to, sizeof to, "%s", onnx_output_name(part->policy));
    snprintf(weight, sizeof weight, "layers.%u.weight", part->layer);
    snprintf(bias, sizeof bias, "layers.%u.bias", part->layer);
    snprintf(name, sizeof name, "layers.%u", part->layer);
    onnx_put_text(w, 1, from); /* inputs */
    onnx_put_text(w, 1, weight);
    onnx_put_text(w, 1, bias);
    onnx_put_text(w, 2, to); /* output */
    onnx_put_text(w, 3, name);
    onnx_put_text(w, 4, "Gemm");
    onnx_put_message(w, 5, onnx_trans_b, part);
}

static void onnx_activation_node(struct writer *w, const struct part *part)
{
    static const char *const operators[] = {[MLP_RELU] = "Relu", [MLP_TANH] = "Tanh"};
    char from[32], to[32], name[32];
    snprintf(from, sizeof from, "sum.%u", part->layer);
    snprintf(to, sizeof to, "hidden.%u", part->layer);
    snprintf(name, sizeof name, "activation.%u", part->layer);
    onnx_put_text(w, 1, from);
    onnx_put_text(w, 2, to);
    onnx_put_text(w, 3, name);
    onnx_put_text(w, 4, operators[part->policy->shape.activation]);
}

/* ---- values: name, and a tensor of floats of shape [n, width] */

static void onnx_rows(struct writer *w, const struct part *part)
{
    (void)part;
    onnx_put_text(w, 2, "n"); /* dim_param */
}

static void onnx_columns(struct writer *w, const struct part *part)
{
    onnx_put_integer(w, 1, part->width); /* dim_value */
}

static void onnx_dimensions(struct writer *w, const struct part *part)
{
    onnx_put_message(w, 1, onnx_rows, part);
    onnx_put_message(w, 1, onnx_columns, part);
}

static void onnx_tensor_type(struct writer *w, const struct part *part)
{
    onnx_put_integer(w, 1, ONNX_FLOAT);
    onnx_put_message(w, 2, onnx_dimensions, part);
}

static void onnx_type(struct writer *w, const struct part *part)
{
    onnx_put_message(w, 1, onnx_tensor_type, part);
}

static void onnx_value(struct writer *w, const struct part *part)
{
    onnx_put_text(w, 1, part->name);
    onnx_put_message(w, 2, onnx_type, part);
}

/* ---- graph and model */

static void onnx_graph(struct writer *w, const struct part *part)
{
    const struct mlp_shape *shape = &part->policy->shape;
    struct part one = *part;
    for (one.layer = 0; one.layer < shape->layer_count; one.layer++) {
        one.last = one.layer + 1 == shape->layer_count;
        onnx_put_message(w, 1, onnx_layer_node, &one);
        if (!one.last)
            onnx_put_message(w, 1, onnx_activation_node, &one);
    }
    onnx_put_text(w, 2, "policy");
    for (one.layer = 0; one.layer < shape->layer_count; one.layer++) {
        one.bias = false;
        onnx_put_message(w, 5, onnx_tensor, &one);
        one.bias = true;
        onnx_put_message(w, 5, onnx_tensor, &one);
    }
    one.name = "state";
    one.width = shape->input;
    onnx_put_message(w, 11, onnx_value, &one);
    one.name = onnx_output_name(part->policy);
    one.width = shape->width[shape->layer_count - 1];
    onnx_put_message(w, 12, onnx_value, &one);
}

static void onnx_opset(struct writer *w, const struct part *part)
{
    (void)part;
    onnx_put_text(w, 1, "");
    onnx_put_integer(w, 2, 13);
}

static void onnx_model(struct writer *w, const struct part *part)
{
    onnx_put_integer(w, 1, 7); /* ir_version */
    onnx_put_text(w, 2, "tacet");
    onnx_put_message(w, 7, onnx_graph, part);
    onnx_put_message(w, 8, onnx_opset, part);
}

char *network_onnx(const struct policy *policy, size_t *out_size)
{
    const struct part part = {.policy = policy};
    struct writer writer = {NULL, 0};
    onnx_model(&writer, &part);
    size_t size = writer.size;
    writer = (struct writer){malloc(size), 0};
    if (!writer.room)
        return NULL;
    onnx_model(&writer, &part);
    assert(writer.size == size);
    *out_size = size;
    return (char *)writer.room;
}
