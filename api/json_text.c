/* Reading JSON bytes into jansson's tree.
 *
 * jansson already refuses NaN, malformed UTF-8, duplicate names and what follows the value. It
 * descends recursively up to 2048 levels, so the depth is bounded here by counting brackets before
 * it starts. Its tree takes tens of bytes for each value, some twenty times what "0," takes in the
 * body: so the values are counted in the same pass. */
#include "api/json_text.h"

#include <stdio.h>

/* What an array or object weighs beside a number: empty ones take that much more memory. */
#define CONTAINER_VALUES 8

struct extent {
    unsigned depth; /* the deepest; one past JSON_DEPTH_MAX ends the measuring */
    size_t values;  /* as JSON_VALUES_MAX counts; one past it likewise */
};

/* Counts brackets and commas outside of strings. Malformed text may be counted wrong: the parser
 * refuses it anyway. */
static struct extent measure(const char *bytes, size_t size)
{
    struct extent extent = {.values = 1};
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (in_string) {
            if (c == '\\') {
                i++;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == ',') {
            extent.values++;
        } else if (c == '[' || c == '{') {
            extent.values += CONTAINER_VALUES;
            if (++depth > extent.depth) {
                extent.depth = depth;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
        if (extent.depth > JSON_DEPTH_MAX || extent.values > JSON_VALUES_MAX) {
            break;
        }
    }
    return extent;
}

enum problem json_text_parse(const char *bytes, size_t size, json_t **out, char *detail,
                             size_t detail_size)
{
    if (size == 0) {
        snprintf(detail, detail_size, "The body is empty, but JSON is needed.");
        return PROBLEM_NOT_JSON;
    }
    struct extent extent = measure(bytes, size);
    if (extent.depth > JSON_DEPTH_MAX) {
        snprintf(detail, detail_size, "The body is nested deeper than %d levels.", JSON_DEPTH_MAX);
        return PROBLEM_NOT_JSON;
    }
    if (extent.values > JSON_VALUES_MAX) {
        snprintf(detail, detail_size,
                 "The body holds more than %d values; an array or object counts as %d.",
                 JSON_VALUES_MAX, CONTAINER_VALUES);
        return PROBLEM_BODY_TOO_LARGE;
    }
    json_error_t error;
    json_t *value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (value != NULL) {
        *out = value;
        return PROBLEM_NONE;
    }
    switch (json_error_code(&error)) {
    case json_error_out_of_memory:
        snprintf(detail, detail_size, "The server is short of memory.");
        return PROBLEM_INTERNAL_ERROR;
    case json_error_numeric_overflow:
        snprintf(detail, detail_size, "Line %d, column %d: the number is too large.", error.line,
                 error.column);
        return PROBLEM_VALIDATION;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        snprintf(detail, detail_size, "Line %d, column %d: texts may not hold U+0000.", error.line,
                 error.column);
        return PROBLEM_VALIDATION;
    case json_error_duplicate_key:
        snprintf(detail, detail_size, "Line %d, column %d: a member is named twice.", error.line,
                 error.column);
        return PROBLEM_NOT_JSON;
    case json_error_premature_end_of_input:
        snprintf(detail, detail_size, "Line %d, column %d: the body ends too early.", error.line,
                 error.column);
        return PROBLEM_NOT_JSON;
    case json_error_invalid_utf8:
        snprintf(detail, detail_size, "Line %d, column %d: not UTF-8.", error.line, error.column);
        return PROBLEM_NOT_JSON;
    default:
        /* jansson quotes what it stopped at, which may be a caller's datum: it is left out. */
        snprintf(detail, detail_size, "Line %d, column %d: not JSON.", error.line, error.column);
        return PROBLEM_NOT_JSON;
    }
}
