/* Reading JSON bytes into jansson's tree.
 *
 * jansson already refuses NaN, malformed UTF-8, duplicate names and what follows the value. It
 * descends recursively up to 2048 levels, so the depth is bounded here by counting brackets before
 * it starts. Its tree takes tens of bytes for each value, some twenty times what "0," takes in the
 * body: so the values are counted in the same pass. */
#include "api/json/json_text.h"

#include <stdio.h>
#include <string.h>

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

/* Refuses a text that is too deep or too large before jansson parses it. */
static enum json_text_status check_extent(const char *bytes, size_t size, struct json_fault *fault)
{
    if (size == 0) {
        snprintf(fault->detail, sizeof fault->detail, "The body is empty, but JSON is needed.");
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
    json_t *value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (value) {
        *out = value;
        return JSON_TEXT_GOOD;
    }
    const char *what;
    status = explain_error(&error, &what);
    snprintf(fault->detail, sizeof fault->detail, "Line %d, column %d: %s.", error.line,
             error.column, what);
    if (status == JSON_TEXT_INVALID && error.position > 0 && (size_t)error.position <= size)
        json_place(bytes, (size_t)error.position, fault->pointer);
    return status;
}

json_t *json_text_stored(const char *text)
{
    return json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}
