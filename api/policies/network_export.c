/* Files of a network: what they have in common, and safetensors. */
#include "api/policies/network_export.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/accept.h"
#include "api/json/json_text.h"
#include "api/policies/network_json.h"
#include "api/wire/certified_file.h"
#include "storage/db/id.h"

/* ---- safetensors: eight bytes of the header's length, a JSON header, the numbers */

static void add_tensor(json_t *header, const char *kind, uint32_t layer, json_t *shape,
                       size_t floats, size_t *at)
{
    char name[32];
    size_t end = *at + floats * sizeof(float);
    snprintf(name, sizeof name, "layers.%u.%s", layer, kind);
    json_t *one = json_pack("{s:s, s:o, s:[I,I]}", "dtype", "F32", "shape", shape, "data_offsets",
                            (json_int_t)*at, (json_int_t)end);
    *at = end;
    json_object_set_new(header, name, one);
}

static json_t *header_json(const struct policy *policy)
{
    const struct mlp_shape *shape = &policy->shape;
    char threshold[32];
    snprintf(threshold, sizeof threshold, "%.9g", (double)policy->threshold);
    json_t *header = json_pack("{s:{s:s, s:s, s:s}}", "__metadata__", "activation",
                               network_activation_name(shape->activation), "output",
                               network_output_name(policy->output), "threshold", threshold);
    size_t at = 0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        uint32_t in = mlp_layer_input(shape, l), out = shape->width[l];
        add_tensor(header, "weight", l, json_pack("[I,I]", (json_int_t)out, (json_int_t)in),
                   (size_t)in * out, &at);
        add_tensor(header, "bias", l, json_pack("[I]", (json_int_t)out), out, &at);
    }
    return header;
}

char *network_safetensors(const struct policy *policy, size_t *out_size)
{
    size_t length = 0, numbers = mlp_parameter_count(&policy->shape) * sizeof(float);
    json_t *json = header_json(policy);
    char *header = json_text_write(json, false, &length);
    json_decref(json);
    size_t padded = (length + 7) / 8 * 8;
    char *file = malloc(8 + padded + numbers);
    if (file) {
        for (int i = 0; i < 8; i++)
            file[i] = (char)((uint64_t)padded >> 8 * i);
        memset(file + 8, ' ', padded);
        memcpy(file + 8, header, length);
        /* Parameters lie in the order of the tensors, little endian like the rest of the house. */
        memcpy(file + 8 + padded, policy->parameters, numbers);
        *out_size = 8 + padded + numbers;
    }
    free(header);
    return file;
}

/* ---- the answer */

static const struct format {
    const char *name;
    char *(*write)(const struct policy *policy, size_t *out_size);
    const char *type;
} formats[] = {{"json", network_write, "application/json"},
               {"safetensors", network_safetensors, "application/octet-stream"},
               {"onnx", network_onnx, "application/octet-stream"}};

static const struct format *format_of(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (!name || strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* The file of POLICY; NULL: it is too large. */
static char *network_file(const struct format *format, const struct policy *policy,
                          const char *certificate, size_t *out_size)
{
    char *bare = format->write(policy, out_size);
    if (!bare || !certificate)
        return bare;
    char *file = certified_file_put(bare, *out_size, certificate, out_size);
    free(bare);
    return file;
}

enum problem network_reply(struct call *call, const struct policy *policy, const char *id,
                           const char *certificate)
{
    const struct format *format = format_of(call_query(call, "format"));
    const char *carried = call_query(call, "certificate");
    if (!format)
        return call_invalid_query(call, "format", "must be json, safetensors or onnx");
    if (carried && strcmp(carried, "inside") != 0 && strcmp(carried, "none") != 0)
        return call_invalid_query(call, "certificate", "must be inside or none");
    if (carried && strcmp(carried, "none") == 0)
        certificate = NULL;
    if (format == formats && !accept_allows_json(call_request_header(call, "Accept"))) {
        return call_problem(
            call, PROBLEM_NOT_ACCEPTABLE,
            "The format json is application/json. Choose another one with the parameter format.");
    }
    const char *known = call_request_header(call, "If-None-Match");
    char name[ID_SIZE + 16], tag[ID_SIZE + 32];
    snprintf(name, sizeof name, "%s", id);
    if (format != formats)
        snprintf(name, sizeof name, "%s.%s", id, format->name);
    /* With its quotes no other's beginning. */
    snprintf(tag, sizeof tag, "\"%s%s\"", name, certificate ? "+certificate" : "");
    call_header(call, "ETag", "%s", tag);
    call_cache_day(call);
    if (known && (strcmp(known, "*") == 0 || strstr(known, tag)))
        return call_reply_empty(call, 304);
    if (format != formats)
        call_header(call, "Content-Disposition", "attachment; filename=\"%s\"", name);
    size_t size = 0;
    char *file = network_file(format, policy, certificate, &size);
    return call_reply_bytes(call, 200, format->type, file, size);
}
