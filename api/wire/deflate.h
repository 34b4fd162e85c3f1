/* Compressing text for an upload: the way back of inflate.h. */
#ifndef TACET_API_WIRE_DEFLATE_H
#define TACET_API_WIRE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/wire/inflate.h"

/* Compresses SIZE bytes to one gzip member or one zstd frame of its own (ENCODING is one of the
 * two), so that several written one behind another are a valid stream, and one that was cut between
 * two of them still is. The same bytes give the same result, with the same library: no time and no
 * name is written. *out is the caller's to free. False: no memory. */
bool deflate_bytes(enum inflate_encoding encoding, const void *bytes, size_t size, char **out,
                   size_t *out_size);

/* What a file's name says: gzip for .gz, zstd for .zst, identity otherwise. */
enum inflate_encoding deflate_of_ending(const char *path);

/* "gzip", "zstd"; NULL for identity, which has no Content-Encoding. */
const char *deflate_name(enum inflate_encoding encoding);

#endif
