/* A network as JSON. The first byte chooses its inputs and actions; then comes the text, or, where
 * the second byte says so, the sizes and the weights of a larger network, which is written by
 * ourselves, with one byte of it changed.
 *
 * What is read is finite and written as the same network; so are its stored bytes; every export is
 * made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/call.h"
#include "api/json/json_text.h"
#include "api/policies/network_digest.h"
#include "api/policies/network_export.h"
#include "api/policies/network_json.h"
#include "tests/fuzz/fuzz.h"

/* Reads TEXT as the network of a body; *OUT_FAULTY: a fault was reported. */
static struct policy *read_text(const char *text, size_t size, uint32_t inputs, uint32_t actions,
                                bool *out_faulty)
{
    json_t *json = NULL;
    struct json_fault fault;
    *out_faulty = true;
    if (json_text_parse(text, size, &json, &fault) != JSON_TEXT_GOOD)
        return NULL;
    struct call call;
    memset(&call, 0, sizeof call);
    arena_init(&call.arena);
    struct policy *policy = network_read(&call, json, "/network", inputs, actions);
    *out_faulty = call_error_count(&call) > 0;
    call_end(&call);
    json_decref(json);
    return policy;
}

/* -0 may come back as 0. */
static bool same_network(const struct policy *a, const struct policy *b)
{
    size_t count = mlp_parameter_count(&a->shape);
    if (!b || a->output != b->output || mlp_parameter_count(&b->shape) != count ||
        memcmp(a->shape.width, b->shape.width, a->shape.layer_count * sizeof(uint32_t)) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (a->parameters[i] != b->parameters[i])
            return false;
    return true;
}

static void check_exports(const struct policy *policy)
{
    size_t size;
    char *tensors = network_safetensors(policy, &size);
    assert(tensors && size > 8);
    free(tensors);
    char *onnx = network_onnx(policy, &size);
    assert(onnx && size > 0);
    free(onnx);
}

static void check_network(const struct policy *policy, uint32_t inputs, uint32_t actions)
{
    size_t size;
    bool faulty;
    unsigned char *bytes;
    assert(policy->shape.input == inputs && policy_action_count(policy) == actions);
    for (size_t i = 0; i < mlp_parameter_count(&policy->shape); i++)
        assert(isfinite(policy->parameters[i]));
    char *text = network_write(policy, &size);
    assert(text);
    struct policy *back = read_text(text, size, inputs, actions, &faulty);
    assert(!faulty && same_network(policy, back));
    policy_free(back);
    free(text);
    assert(policy_to_bytes(policy, &bytes, &size));
    back = policy_from_bytes(bytes, size);
    assert(same_network(policy, back));
    policy_free(back);
    free(bytes);
    check_exports(policy);
}

/* The text of a network whose weights are the bytes of the input, again and again. */
static char *write_large(const uint8_t **data, size_t *size, uint32_t inputs, uint32_t actions,
                         size_t *out_size)
{
    struct mlp_shape shape = {.input = inputs, .layer_count = 1 + fuzz_byte(data, size) % 3U};
    shape.activation = (enum mlp_activation)(fuzz_byte(data, size) % 2);
    for (uint32_t l = 0; l + 1 < shape.layer_count; l++)
        shape.width[l] = 1 + fuzz_byte(data, size) / 4U;
    shape.width[shape.layer_count - 1] = actions;
    struct policy *policy = policy_new(&shape, (enum policy_output)(fuzz_byte(data, size) % 3));
    assert(policy);
    uint8_t at = fuzz_byte(data, size), change = fuzz_byte(data, size);
    for (size_t i = 0; i < mlp_parameter_count(&shape); i++)
        policy->parameters[i] = *size == 0 ? 0 : ((float)(*data)[i % *size] - 128) / 64;
    char *text = network_write(policy, out_size);
    policy_free(policy);
    if (text && change != 0)
        text[*out_size * at / 256] = (char)change;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t sizes = fuzz_byte(&data, &size), large = fuzz_byte(&data, &size);
    uint32_t inputs = 1 + sizes % 8U, actions = 2 + sizes / 8U % 8U;
    size_t text_size = size;
    char *text = large >= 128 ? write_large(&data, &size, inputs, actions, &text_size)
                              : fuzz_copy(data, size, false);
    bool faulty;
    struct policy *policy = read_text(text, text_size, inputs, actions, &faulty);
    assert(faulty == !policy);
    if (policy)
        check_network(policy, inputs, actions);
    policy_free(policy);
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 2);
}
