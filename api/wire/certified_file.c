#include "api/wire/certified_file.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"
#include "memory/buffer.h"
#include "memory/memory.h"

#define FILE_MOST ((size_t)1 << 40)

static void carry_away(struct certified_file *out, const char *text, size_t size)
{
    out->certificate = memory_new(1, size + 1);
    memcpy(out->certificate, text, size);
    out->certificate_size = size;
}

/* ---- JSON: nothing that a network has before it looks like this member */

#define MEMBER        ",\"certificate\":"
#define MEMBER_BEGINS MEMBER "{"

static char *put_json(const char *file, size_t size, const char *certificate, size_t *out_size)
{
    struct buffer out = {.lid = FILE_MOST};
    (void)buffer_add(&out, file, size - 1);
    (void)buffer_add_format(&out, "%s%s}", MEMBER, certificate);
    return buffer_take(&out, out_size);
}

static bool cut_json(const char *bytes, size_t size, struct certified_file *out)
{
    const char *at = memmem(bytes, size, MEMBER_BEGINS, strlen(MEMBER_BEGINS));
    if (!at || bytes[size - 1] != '}')
        return false;
    size_t left = (size_t)(at - bytes);
    carry_away(out, at + strlen(MEMBER), size - 1 - left - strlen(MEMBER));
    out->file = memory_new(1, left + 1);
    memcpy(out->file, bytes, left);
    out->file[left] = '}';
    out->file_size = left + 1;
    return true;
}

/* ---- safetensors: eight bytes of the header's length, a JSON header padded to 8, the numbers */

#define LENGTH 8

/* The header of BYTES as JSON; *OUT_NUMBERS is where the numbers begin. NULL: it has none. */
static json_t *tensors_header(const char *bytes, size_t size, size_t *out_numbers)
{
    uint64_t length = 0;
    struct json_fault fault;
    json_t *header = NULL;
    for (int i = LENGTH; i-- > 0;)
        length = length << 8 | (unsigned char)bytes[i];
    if (length > size - LENGTH ||
        json_text_parse(bytes + LENGTH, (size_t)length, &header, &fault) != JSON_TEXT_GOOD)
        return NULL;
    *out_numbers = LENGTH + (size_t)length;
    return header;
}

static char *write_tensors(const json_t *header, const char *numbers, size_t numbers_size,
                           size_t *out_size)
{
    size_t length = 0;
    char head[LENGTH], *text = json_text_write(header, false, &length);
    size_t padded = (length + 7) / 8 * 8;
    struct buffer out = {.lid = FILE_MOST};
    for (int i = 0; i < LENGTH; i++)
        head[i] = (char)((uint64_t)padded >> 8 * i);
    (void)buffer_add(&out, head, LENGTH);
    (void)buffer_add_format(&out, "%s%*s", text, (int)(padded - length), "");
    (void)buffer_add(&out, numbers, numbers_size);
    free(text);
    return buffer_take(&out, out_size);
}

static char *put_tensors(const char *file, size_t size, const char *certificate, size_t *out_size)
{
    size_t numbers = 0;
    json_t *header = tensors_header(file, size, &numbers);
    json_object_set_new(json_object_get(header, "__metadata__"), "certificate",
                        json_string(certificate));
    char *out = write_tensors(header, file + numbers, size - numbers, out_size);
    json_decref(header);
    return out;
}

static bool cut_tensors(const char *bytes, size_t size, struct certified_file *out)
{
    size_t numbers = 0;
    json_t *header = tensors_header(bytes, size, &numbers);
    json_t *metadata = json_object_get(header, "__metadata__");
    const json_t *text = json_object_get(metadata, "certificate");
    bool carries = json_is_string(text);
    if (carries) {
        carry_away(out, json_string_value(text), json_string_length(text));
        (void)json_object_del(metadata, "certificate");
        out->file = write_tensors(header, bytes + numbers, size - numbers, &out->file_size);
        memory_must(out->file); /* no larger than BYTES */
    }
    json_decref(header);
    return carries;
}

/* ---- ONNX: a protocol buffer. Fields may stand in any order, so ours is put behind the others:
 * metadata_props (14) is a StringStringEntryProto of key (1) and value (2) */

#define PROPERTY     (14 << 3 | 2)
#define PROPERTY_KEY "\012\021tacet.certificate\022" /* key, its length, the key, value */

static void add_varint(struct buffer *out, uint64_t value)
{
    unsigned char byte;
    for (; value >= 128; value >>= 7) {
        byte = (unsigned char)((value & 127) | 128);
        (void)buffer_add(out, &byte, 1);
    }
    byte = (unsigned char)value;
    (void)buffer_add(out, &byte, 1);
}

/* Reads a number below END; NULL: there is none. */
static const char *read_varint(const char *at, const char *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; at && at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*at++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return at;
    }
    return NULL;
}

static char *put_onnx(const char *file, size_t size, const char *certificate, size_t *out_size)
{
    struct buffer value = {.lid = FILE_MOST}, out = {.lid = FILE_MOST};
    (void)buffer_add(&value, PROPERTY_KEY, sizeof PROPERTY_KEY - 1);
    add_varint(&value, strlen(certificate));
    (void)buffer_add_text(&value, certificate);
    (void)buffer_add(&out, file, size);
    add_varint(&out, PROPERTY);
    add_varint(&out, value.size);
    (void)buffer_add(&out, value.bytes, value.size);
    buffer_clear(&value);
    return buffer_take(&out, out_size);
}

/* Reads the field at AT: its number and type, and its content if it has a length. Gives where the
 * next one begins; NULL: it is damaged, or of a type that files of networks do not have. */
static const char *onnx_read_field(const char *at, const char *end, uint64_t *out_tag,
                                   const char **out_content)
{
    uint64_t value;
    at = read_varint(at, end, out_tag);
    at = read_varint(at, end, &value);
    *out_content = at;
    if (!at || (*out_tag & 7) == 0)
        return at;
    if ((*out_tag & 7) != 2 || value > (uint64_t)(end - at))
        return NULL;
    return at + value;
}

static bool cut_onnx(const char *bytes, size_t size, struct certified_file *out)
{
    const char *end = bytes + size, *at = bytes, *next = NULL, *content = NULL;
    uint64_t tag = 0, length = 0;
    for (; (next = onnx_read_field(at, end, &tag, &content)) && next < end; at = next)
        continue;
    size_t key = sizeof PROPERTY_KEY - 1;
    if (next != end || tag != PROPERTY || (size_t)(end - content) < key ||
        memcmp(content, PROPERTY_KEY, key) != 0)
        return false;
    content = read_varint(content + key, end, &length);
    if (!content || length != (uint64_t)(end - content))
        return false;
    carry_away(out, content, (size_t)length);
    out->file_size = (size_t)(at - bytes);
    out->file = memory_new(1, out->file_size + 1);
    memcpy(out->file, bytes, out->file_size);
    return true;
}

/* ---- the forms, told apart by their first bytes */

static bool is_json(const char *bytes, size_t size)
{
    return size > 1 && bytes[0] == '{';
}

static bool is_tensors(const char *bytes, size_t size)
{
    return size > LENGTH && bytes[LENGTH] == '{';
}

char *certified_file_put(const char *file, size_t size, const char *certificate, size_t *out_size)
{
    if (is_json(file, size))
        return put_json(file, size, certificate, out_size);
    if (is_tensors(file, size))
        return put_tensors(file, size, certificate, out_size);
    return put_onnx(file, size, certificate, out_size);
}

bool certified_file_cut(const char *bytes, size_t size, struct certified_file *out)
{
    *out = (struct certified_file){.file = NULL};
    if (is_json(bytes, size))
        return cut_json(bytes, size, out);
    if (is_tensors(bytes, size))
        return cut_tensors(bytes, size, out);
    return cut_onnx(bytes, size, out);
}
