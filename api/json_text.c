/* Reading JSON bytes into jansson's tree.
 *
 * jansson already refuses NaN, malformed UTF-8, duplicate names and what follows the value. It
 * descends recursively up to 2048 levels, so the depth is bounded here by counting brackets before
 * it starts. */
#include "api/json_text.h"

#include <stdio.h>

/* True when brackets outside of strings nest deeper than JSON_DEPTH_MAX. Malformed text may be
 * counted wrong: the parser refuses it anyway. */
static bool too_deep(const char *bytes, size_t size)
{
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
        } else if (c == '[' || c == '{') {
            if (++depth > JSON_DEPTH_MAX) {
                return true;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return false;
}

enum problem json_text_parse(const char *bytes, size_t size, json_t **out, char *detail,
                             size_t detail_size)
{
    if (size == 0) {
        snprintf(detail, detail_size, "The body is empty, but JSON is needed.");
        return PROBLEM_NOT_JSON;
    }
    if (too_deep(bytes, size)) {
        snprintf(detail, detail_size, "The body is nested deeper than %d levels.", JSON_DEPTH_MAX);
        return PROBLEM_NOT_JSON;
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
