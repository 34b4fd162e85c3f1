/* Parses JSON into jansson's tree and writes it, by our rules. */
#ifndef TACET_API_JSON_JSON_TEXT_H
#define TACET_API_JSON_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/json_place.h"

/* Deepest nesting of a body; a network's weights need 5. */
#define JSON_DEPTH_MAX 32
/* Most values of a body, whatever its size in bytes: its tree then takes some 100 MB. An array or
 * object counts as 8. */
#define JSON_VALUES_MAX 2000000

struct json_fault {
    char pointer[JSON_PLACE_SIZE]; /* where; "" for the whole, or for what is not JSON */
    char detail[160];              /* a sentence, with line and column where there are some */
};

enum json_text_status {
    JSON_TEXT_GOOD,
    JSON_TEXT_MALFORMED, /* it is not JSON, or a member is named twice, or it is nested too deep */
    JSON_TEXT_INVALID,   /* JSON, but with a number beyond double's range or U+0000 in a text */
    JSON_TEXT_TOO_LARGE, /* it holds more than JSON_VALUES_MAX values */
};

/* Parses SIZE bytes of one JSON value: strict RFC 8259 and UTF-8, no duplicate names, nesting up to
 * JSON_DEPTH_MAX. JSON_TEXT_GOOD gives a new reference in *out; any other status fills FAULT. */
enum json_text_status json_text_parse(const char *bytes, size_t size, json_t **out,
                                      struct json_fault *fault);

/* Parses a text that we wrote and stored: a new reference. NULL: the text was damaged. */
json_t *json_text_stored(const char *text);

/* JSON text of VALUE (borrowed), compact, numbers in the shortest form that reads back as the same
 * double (20 for 20.0, 1e-7 as ECMAScript writes it). SORTED orders the members of every object:
 * then the bytes are RFC 8785's canonical form, for texts that are signed. The caller frees it; it
 * ends with a NUL that *out_size does not count. */
char *json_text_write(const json_t *value, bool sorted, size_t *out_size);

/* A number as ECMAScript writes it (RFC 8785, section 3.2.2.3); VALUE is finite. Writes at most 31
 * bytes and a NUL; gives the length. */
size_t json_text_number(double value, char out[32]);

/* Escapes TEXT as a JSON string, quotes included, into a file of text that is being built by hand.
 * Gives the bytes written, or 0 when they do not fit into SIZE. */
size_t json_text_string(const char *text, char *out, size_t size);

/* VALUE as JSON: a number when it is finite, otherwise null. New reference. */
json_t *json_number(double value);

/* "2026-11-21T12:00:00.000Z" of milliseconds since the epoch; null for 0 and below (a time that is
 * not yet). New reference. */
json_t *json_time(int64_t ms);

/* TEXT, or null when it is NULL or empty. New reference. */
json_t *json_text_or_null(const char *text);

/* A list of those of COUNT texts that are not NULL. New reference. */
json_t *json_texts(const char *const *texts, size_t count);
#define JSON_TEXTS(...)                                                                            \
    json_texts((const char *const[]){__VA_ARGS__},                                                 \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Adds VALUE, which it takes, to the array *LIST. */
void json_list_add(json_t **list, json_t *value);

/* Sets the member NAME of *OBJECT to VALUE, which it takes. */
void json_member_add(json_t **object, const char *name, json_t *value);

/* Adds the members of MORE (borrowed) that *OBJECT does not have yet. */
void json_members_add(json_t **object, json_t *more);

#endif
