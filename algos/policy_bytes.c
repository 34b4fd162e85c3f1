/* The byte form of a policy, little endian:
 *
 *   u32 magic "TCPL"   u32 version 1   u32 output   u32 activation   u32 input   u32 layers
 *   u32 width[layers]   f32 parameters[...]   u64 checksum of everything before it */
#include "algos/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"

enum { MAGIC = 0x4c504354, VERSION = 1, FIXED_WORDS = 6 };

static size_t header_size(uint32_t layer_count)
{
    return (FIXED_WORDS + (size_t)layer_count) * sizeof(uint32_t);
}

bool policy_to_bytes(const struct policy *policy, unsigned char **out_bytes, size_t *out_size)
{
    const struct mlp_shape *shape = &policy->shape;
    uint32_t header[FIXED_WORDS + MLP_MAX_LAYERS] = {MAGIC,          VERSION,
                                                     policy->output, (uint32_t)shape->activation,
                                                     shape->input,   shape->layer_count};
    memcpy(header + FIXED_WORDS, shape->width, shape->layer_count * sizeof(uint32_t));
    size_t head = header_size(shape->layer_count);
    size_t body = mlp_parameter_count(shape) * sizeof(float);
    unsigned char *bytes = malloc(head + body + sizeof(uint64_t));
    if (!bytes)
        return false;
    memcpy(bytes, header, head);
    memcpy(bytes + head, policy->parameters, body);
    uint64_t checksum = checksum_words(CHECKSUM_START, bytes, head + body);
    memcpy(bytes + head + body, &checksum, sizeof checksum);
    *out_bytes = bytes;
    *out_size = head + body + sizeof checksum;
    return true;
}

/* The header's shape when the bytes are whole and undamaged. */
static bool read_header(const unsigned char *bytes, size_t size, struct mlp_shape *shape,
                        uint32_t *output)
{
    uint32_t header[FIXED_WORDS];
    uint64_t checksum;
    if (size < sizeof header + sizeof checksum || size % sizeof(uint32_t) != 0)
        return false;
    memcpy(header, bytes, sizeof header);
    if (header[0] != MAGIC || header[1] != VERSION || header[2] > POLICY_Q ||
        header[3] > MLP_TANH || header[5] > MLP_MAX_LAYERS)
        return false;
    *output = header[2];
    *shape = (struct mlp_shape){.input = header[4], .layer_count = header[5]};
    shape->activation = (enum mlp_activation)header[3];
    size_t head = header_size(shape->layer_count);
    if (size < head + sizeof checksum)
        return false;
    memcpy(shape->width, bytes + sizeof header, head - sizeof header);
    if (!mlp_shape_valid(shape) ||
        size != head + mlp_parameter_count(shape) * sizeof(float) + sizeof checksum)
        return false;
    memcpy(&checksum, bytes + size - sizeof checksum, sizeof checksum);
    return checksum == checksum_words(CHECKSUM_START, bytes, size - sizeof checksum);
}

struct policy *policy_from_bytes(const unsigned char *bytes, size_t size)
{
    struct mlp_shape shape;
    uint32_t output;
    if (!bytes || !read_header(bytes, size, &shape, &output))
        return NULL;
    struct policy *policy = policy_new(&shape, (enum policy_output)output);
    if (!policy)
        return NULL;
    size_t count = mlp_parameter_count(&shape);
    memcpy(policy->parameters, bytes + header_size(shape.layer_count), count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(policy->parameters[i])) {
            policy_free(policy);
            return NULL;
        }
    }
    return policy;
}
