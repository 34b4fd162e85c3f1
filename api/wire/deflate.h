/* Compresses what the command line uploads (gzip or zstd): the inverse of inflate.h. */
#ifndef TACET_API_WIRE_DEFLATE_H
#define TACET_API_WIRE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/wire/inflate.h"

/* Compresses SIZE bytes to one gzip member or one zstd frame (ENCODING is one of the two). Several
 * results in sequence are a valid stream. The result is a function of the bytes and the library's
 * version: it holds no time and no name. *out is the caller's to free. False: no memory. */
bool deflate_bytes(enum inflate_encoding encoding, const void *bytes, size_t size, char **out,
                   size_t *out_size);

/* The encoding for a file's name: gzip for .gz, zstd for .zst, identity otherwise. */
enum inflate_encoding deflate_of_ending(const char *path);

/* "gzip", "zstd"; NULL for identity, which has no Content-Encoding. */
const char *deflate_name(enum inflate_encoding encoding);

#endif
