/* Reading JSON bytes into jansson's tree.
 *
 * jansson already refuses NaN, malformed UTF-8, duplicate names and what follows the value. It
 * descends recursively up to 2048 levels, so the depth is bounded here by counting brackets before
 * it starts. Its tree takes tens of bytes for each value, some twenty times what "0," takes in the
 * body: so the values are counted in the same pass. */
#include "api/json/json_text.h"

#include <stdio.h>
#include <string.h>

#include "memory/buffer.h"

#define LOAD_FLAGS (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)

/* An array or object counts as this many numbers, because even an empty one takes so much more
 * memory. */
#define CONTAINER_VALUES 8

struct extent {
    unsigned depth; /* the deepest; one past JSON_DEPTH_MAX ends the measuring */
    size_t values;  /* as JSON_VALUES_MAX counts; one past it likewise */
};

/* Counts brackets and commas outside of strings. Malformed text may be counted wrong: the parser
 * refuses it anyway. */
static struct extent measure_extent(const char *bytes, size_t size)
{
    struct extent extent = {.values = 1};
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == ',') {
            extent.values++;
        } else if (c == '[' || c == '{') {
            extent.values += CONTAINER_VALUES;
            if (++depth > extent.depth)
                extent.depth = depth;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
        if (extent.depth > JSON_DEPTH_MAX || extent.values > JSON_VALUES_MAX)
            break;
    }
    return extent;
}

/* ---- integers beyond 64 bits. RFC 8785 writes every number below 1e21 without an exponent, and
 * jansson reads no integer from 2^63 on. Such numbers get a fraction, in a copy of the text, so
 * that they are read as the doubles that they are */

#define INTEGER_DIGITS 19 /* of 2^63 */

/* True when the number TEXT[size] is an integer that jansson does not read. */
static bool is_wide_integer(const char *text, size_t size)
{
    bool negative = size > 0 && text[0] == '-';
    const char *most = negative ? "9223372036854775808" : "9223372036854775807";
    text += negative;
    size -= negative;
    if (size < INTEGER_DIGITS || text[0] == '0')
        return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return size > INTEGER_DIGITS || memcmp(text, most, INTEGER_DIGITS) > 0;
}

/* The bytes of the string, or of the number, that begins at AT; 0: neither does. */
static size_t token_length(const char *at, const char *end)
{
    size_t length = 0, left = (size_t)(end - at);
    if (*at == '"') {
        for (length = 1; length < left && at[length] != '"'; length++)
            length += at[length] == '\\';
        return length < left ? length + 1 : left;
    }
    while (length < left && at[length] != '\0' && strchr("+-.0123456789Ee", at[length]))
        length++;
    return length;
}

/* Copies BYTES to OUT with ".0" behind every wide integer. False: there is none, or no memory. */
static bool widen_integers(const char *bytes, size_t size, struct buffer *out)
{
    bool found = false;
    const char *end = bytes + size;
    for (const char *at = bytes; at < end;) {
        size_t length = token_length(at, end);
        bool wide = is_wide_integer(at, length);
        length = length > 0 ? length : 1;
        if (!buffer_add(out, at, length) || (wide && !buffer_add(out, ".0", 2)))
            return false;
        found = found || wide;
        at += length;
    }
    return found;
}

/* Parses by our rules; NULL: *ERROR says why. COPY (for buffer_clear) has the text that *ERROR is
 * about where that is not BYTES. */
static json_t *load_text(const char *bytes, size_t size, struct buffer *copy, json_error_t *error)
{
    json_t *value = json_loadb(bytes, size, LOAD_FLAGS, error);
    buffer_init(copy, 2 * size + 2);
    if (value || json_error_code(error) != json_error_numeric_overflow)
        return value;
    if (widen_integers(bytes, size, copy))
        return json_loadb(copy->bytes, copy->size, LOAD_FLAGS, error);
    buffer_clear(copy);
    return NULL;
}

/* Explains a parse error. jansson quotes the text at which it stopped, which may be private; the
 * quote is left out. */
static enum json_text_status explain_error(const json_error_t *error, const char **out_what)
{
    switch (json_error_code(error)) {
    case json_error_numeric_overflow:
        *out_what = "the number is too large";
        return JSON_TEXT_INVALID;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        *out_what = "texts may not hold U+0000";
        return JSON_TEXT_INVALID;
    case json_error_duplicate_key:
        *out_what = "a member is named twice";
        return JSON_TEXT_MALFORMED;
    case json_error_premature_end_of_input:
        *out_what = "the body ends too early";
        return JSON_TEXT_MALFORMED;
    case json_error_invalid_utf8: *out_what = "not UTF-8"; return JSON_TEXT_MALFORMED;
    default: *out_what = "not JSON"; return JSON_TEXT_MALFORMED;
    }
}

/* Refuses a text that is too deep or too large, or that holds NUL, before jansson parses it. */
static enum json_text_status check_extent(const char *bytes, size_t size, struct json_fault *fault)
{
    if (size == 0) {
        snprintf(fault->detail, sizeof fault->detail, "The body is empty, but JSON is needed.");
        return JSON_TEXT_MALFORMED;
    }
    if (memchr(bytes, '\0', size)) { /* behind a number jansson overlooks it */
        snprintf(fault->detail, sizeof fault->detail, "The body holds a byte of zero: not JSON.");
        return JSON_TEXT_MALFORMED;
    }
    struct extent extent = measure_extent(bytes, size);
    if (extent.depth > JSON_DEPTH_MAX) {
        snprintf(fault->detail, sizeof fault->detail, "The body is nested deeper than %d levels.",
                 JSON_DEPTH_MAX);
        return JSON_TEXT_MALFORMED;
    }
    if (extent.values > JSON_VALUES_MAX) {
        snprintf(fault->detail, sizeof fault->detail,
                 "The body holds more than %d values; an array or object counts as %d.",
                 JSON_VALUES_MAX, CONTAINER_VALUES);
        return JSON_TEXT_TOO_LARGE;
    }
    return JSON_TEXT_GOOD;
}

enum json_text_status json_text_parse(const char *bytes, size_t size, json_t **out,
                                      struct json_fault *fault)
{
    *fault = (struct json_fault){.pointer = ""};
    enum json_text_status status = check_extent(bytes, size, fault);
    if (status != JSON_TEXT_GOOD)
        return status;
    json_error_t error;
    struct buffer copy;
    json_t *value = load_text(bytes, size, &copy, &error);
    if (value) {
        buffer_clear(&copy);
        *out = value;
        return JSON_TEXT_GOOD;
    }
    const char *what;
    status = explain_error(&error, &what);
    snprintf(fault->detail, sizeof fault->detail, "Line %d, column %d: %s.", error.line,
             error.column, what);
    const char *read = copy.bytes ? copy.bytes : bytes;
    if (status == JSON_TEXT_INVALID && error.position > 0 &&
        (size_t)error.position <= (copy.bytes ? copy.size : size))
        json_place(read, (size_t)error.position, fault->pointer);
    buffer_clear(&copy);
    return status;
}

json_t *json_text_stored(const char *text)
{
    json_error_t error;
    struct buffer copy;
    json_t *value = load_text(text, strlen(text), &copy, &error);
    buffer_clear(&copy);
    return value;
}
