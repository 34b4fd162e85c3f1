/* Content-Encoding of an upload: a reader that decodes gzip (RFC 1952) or zstd (RFC 8878) from
 * another reader, in constant memory and with a limit on its output. */
#ifndef TACET_API_WIRE_INFLATE_H
#define TACET_API_WIRE_INFLATE_H

#include <stdint.h>

#include "api/json/byte_reader.h"

enum inflate_encoding { INFLATE_IDENTITY, INFLATE_GZIP, INFLATE_ZSTD, INFLATE_UNKNOWN };

/* The encoding that a Content-Encoding header names (NULL: identity). A list of several is unknown.
 */
enum inflate_encoding inflate_encoding_find(const char *header);

/* Why a read failed. */
enum inflate_status {
    INFLATE_OK,
    INFLATE_GONE,      /* the reader below failed */
    INFLATE_CORRUPT,   /* damaged or cut off */
    INFLATE_TOO_LARGE, /* more came out than allowed */
};

struct inflate;

/* Decodes what READER gives, at most MAX_BYTES. Output beyond 16 MiB may also be at most 1100 times
 * as large as the input. Deflate cannot exceed that; a larger ratio is a decompression bomb. */
struct inflate *inflate_new(enum inflate_encoding encoding, struct byte_reader reader,
                            uint64_t max_bytes);

/* NULL is fine. */
void inflate_free(struct inflate *stream);

/* The decoded bytes as a reader; -1 on any failure, of which inflate_status tells the kind. */
struct byte_reader inflate_reader(struct inflate *stream);

/* Why the reader gave -1. */
enum inflate_status inflate_status(const struct inflate *stream);

#endif
