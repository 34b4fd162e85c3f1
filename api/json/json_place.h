/* Where in a JSON text something stands. */
#ifndef TACET_API_JSON_JSON_PLACE_H
#define TACET_API_JSON_JSON_PLACE_H

#include <stddef.h>

#define JSON_PLACE_SIZE 512

/* The pointer (RFC 6901) of the value that byte POSITION - 1 of BYTES belongs to, as far as it is
 * known there: "" for the outermost value. What comes before POSITION is well-formed and nested no
 * deeper than JSON_DEPTH_MAX. Where a name is long, or no text, the pointer ends at its object. */
void json_place(const char *bytes, size_t position, char out[JSON_PLACE_SIZE]);

#endif
