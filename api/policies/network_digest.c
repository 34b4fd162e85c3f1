/* The files are written here once to be hashed; they are the same bytes whenever they are sent. */
#include "api/policies/network_digest.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policies/network_export.h"
#include "api/policies/network_json.h"

static void digest_floats(crypto_hash_sha256_state *state, const float *numbers, size_t count)
{
    enum { AT_ONCE = 1024 };
    float plain[AT_ONCE];
    for (size_t i = 0; i < count; i += AT_ONCE) {
        size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        for (size_t k = 0; k < some; k++)
            plain[k] = numbers[i + k] + 0.0F; /* -0 becomes 0 */
        crypto_hash_sha256_update(state, (const unsigned char *)plain, some * sizeof *plain);
    }
}

void network_digest(const struct policy *policy, unsigned char out[DIGEST_BYTES])
{
    const struct mlp_shape *shape = &policy->shape;
    char line[64 + 16 * (MLP_MAX_LAYERS + 1)];
    int size = snprintf(line, sizeof line, "%s %s %u", network_activation_name(shape->activation),
                        network_output_name(policy->output), shape->input);
    for (uint32_t l = 0; l < shape->layer_count; l++)
        size += snprintf(line + size, sizeof line - (size_t)size, " %u", shape->width[l]);
    size += snprintf(line + size, sizeof line - (size_t)size, "\n");
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)line, (size_t)size);
    digest_floats(&state, &policy->threshold, 1);
    digest_floats(&state, policy->parameters, mlp_parameter_count(shape));
    crypto_hash_sha256_final(&state, out);
}

bool network_binds(const struct policy *policy, json_t *binds)
{
    static const struct {
        const char *name;
        char *(*write)(const struct policy *policy, size_t *out_size);
    } forms[] = {
        {"json", network_write}, {"safetensors", network_safetensors}, {"onnx", network_onnx}};
    unsigned char digest[DIGEST_BYTES];
    json_t *files = json_object();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t size = 0;
        char *file = forms[i].write(policy, &size);
        if (!file) {
            json_decref(files);
            return false;
        }
        crypto_hash_sha256(digest, (const unsigned char *)file, size);
        free(file);
        json_object_set_new(files, forms[i].name, digest_json(digest));
    }
    network_digest(policy, digest);
    json_object_set_new(binds, "weights_sha256", digest_json(digest));
    json_object_set_new(binds, "files", files);
    return true;
}
