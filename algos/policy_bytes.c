/* The byte form of a policy, little endian:
 *
 *   u32 magic "TCPL"   u32 version   u32 output   u32 activation   u32 input   u32 layers
 *   u32 width[layers]   f32 parameters[...]   u64 checksum of everything before it
 *
 * Version 1, or 2 with f32 threshold behind the widths, which POLICY_BCQ and nothing else has. */
#include "algos/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"

enum { MAGIC = 0x4c504354, VERSION = 1, VERSION_THRESHOLD = 2, FIXED_WORDS = 6 };

static size_t header_size(uint32_t version, uint32_t layer_count)
{
    size_t words = FIXED_WORDS + (size_t)layer_count;
    return (words + (version == VERSION_THRESHOLD)) * sizeof(uint32_t);
}

static uint32_t version_of(uint32_t output)
{
    return output == POLICY_BCQ ? VERSION_THRESHOLD : VERSION;
}

bool policy_to_bytes(const struct policy *policy, unsigned char **out_bytes, size_t *out_size)
{
    const struct mlp_shape *shape = &policy->shape;
    uint32_t version = version_of(policy->output);
    uint32_t header[FIXED_WORDS + MLP_MAX_LAYERS + 1] = {
        MAGIC,        version,           policy->output, (uint32_t)shape->activation,
        shape->input, shape->layer_count};
    memcpy(header + FIXED_WORDS, shape->width, shape->layer_count * sizeof(uint32_t));
    memcpy(header + FIXED_WORDS + shape->layer_count, &policy->threshold, sizeof(float));
    size_t head = header_size(version, shape->layer_count);
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

/* What comes before the parameters. */
struct head {
    struct mlp_shape shape;
    uint32_t output;
    float threshold;
    size_t size;
};

static bool threshold_fits(const struct head *head)
{
    if (head->output != POLICY_BCQ)
        return true;
    return head->threshold >= 0.0F && head->threshold < 1.0F &&
           head->shape.width[head->shape.layer_count - 1] % 2 == 0;
}

/* The head when the bytes are whole and undamaged. */
static bool read_head(const unsigned char *bytes, size_t size, struct head *out)
{
    uint32_t header[FIXED_WORDS];
    uint64_t checksum;
    if (size < sizeof header + sizeof checksum || size % sizeof(uint32_t) != 0)
        return false;
    memcpy(header, bytes, sizeof header);
    if (header[0] != MAGIC || header[2] > POLICY_BCQ || header[1] != version_of(header[2]) ||
        header[3] > MLP_TANH || header[5] < 1 || header[5] > MLP_MAX_LAYERS)
        return false;
    *out = (struct head){.output = header[2]};
    struct mlp_shape *shape = &out->shape;
    *shape = (struct mlp_shape){.input = header[4], .layer_count = header[5]};
    shape->activation = (enum mlp_activation)header[3];
    out->size = header_size(header[1], shape->layer_count);
    if (size < out->size + sizeof checksum)
        return false;
    size_t widths = shape->layer_count * sizeof(uint32_t);
    memcpy(shape->width, bytes + sizeof header, widths);
    if (out->output == POLICY_BCQ)
        memcpy(&out->threshold, bytes + sizeof header + widths, sizeof out->threshold);
    if (!mlp_shape_valid(shape) || !threshold_fits(out) ||
        size != out->size + mlp_parameter_count(shape) * sizeof(float) + sizeof checksum)
        return false;
    memcpy(&checksum, bytes + size - sizeof checksum, sizeof checksum);
    return checksum == checksum_words(CHECKSUM_START, bytes, size - sizeof checksum);
}

struct policy *policy_from_bytes(const unsigned char *bytes, size_t size)
{
    struct head head;
    if (!bytes || !read_head(bytes, size, &head))
        return NULL;
    struct policy *policy = policy_new(&head.shape, (enum policy_output)head.output);
    if (!policy)
        return NULL;
    policy->threshold = head.threshold;
    size_t count = mlp_parameter_count(&head.shape);
    memcpy(policy->parameters, bytes + head.size, count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(policy->parameters[i])) {
            policy_free(policy);
            return NULL;
        }
    }
    return policy;
}
