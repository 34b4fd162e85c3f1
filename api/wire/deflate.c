/* Whole buffers to gzip or zstd. Callers stream by calling often: a member or frame each time costs
 * some 20 bytes and lets any number of threads compress at once. */
#include "api/wire/deflate.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_LEVEL 6
#define ZSTD_LEVEL 3

/* zlib counts in uInt: longer inputs and outputs are handed to it in parts. */
static uInt part_of(size_t left)
{
    return left < UINT_MAX ? (uInt)left : UINT_MAX;
}

static bool to_gzip(const void *bytes, size_t size, char *out, size_t room, size_t *out_size)
{
    z_stream z = {0};
    size_t in_left = size, out_left = room;
    int outcome = deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    if (outcome != Z_OK)
        return false;
    z.next_in = (z_const Bytef *)bytes;
    z.next_out = (Bytef *)out;
    while (outcome == Z_OK) {
        uInt in = part_of(in_left), given = part_of(out_left);
        z.avail_in = in;
        z.avail_out = given;
        outcome = deflate(&z, in == in_left ? Z_FINISH : Z_NO_FLUSH);
        in_left -= in - z.avail_in;
        out_left -= given - z.avail_out;
    }
    deflateEnd(&z);
    *out_size = room - out_left;
    return outcome == Z_STREAM_END;
}

static bool to_zstd(const void *bytes, size_t size, char *out, size_t room, size_t *out_size)
{
    *out_size = ZSTD_compress(out, room, bytes, size, ZSTD_LEVEL);
    return !ZSTD_isError(*out_size);
}

bool deflate_bytes(enum inflate_encoding encoding, const void *bytes, size_t size, char **out,
                   size_t *out_size)
{
    assert(encoding == INFLATE_GZIP || encoding == INFLATE_ZSTD);
    bool gzip = encoding == INFLATE_GZIP;
    /* compressBound is for zlib's header of 6 bytes; gzip's has 18. */
    size_t room = gzip ? compressBound(size) + 12 : ZSTD_compressBound(size);
    char *fresh = malloc(room);
    if (!fresh)
        return false;
    bool done = gzip ? to_gzip(bytes, size, fresh, room, out_size)
                     : to_zstd(bytes, size, fresh, room, out_size);
    if (!done) {
        free(fresh);
        return false;
    }
    char *fitting = realloc(fresh, *out_size); /* mostly much smaller than the bound */
    if (fitting)
        fresh = fitting;
    *out = fresh;
    return true;
}

enum inflate_encoding deflate_of_ending(const char *path)
{
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        return INFLATE_GZIP;
    return length > 4 && strcmp(path + length - 4, ".zst") == 0 ? INFLATE_ZSTD : INFLATE_IDENTITY;
}

const char *deflate_name(enum inflate_encoding encoding)
{
    if (encoding == INFLATE_GZIP)
        return "gzip";
    return encoding == INFLATE_ZSTD ? "zstd" : NULL;
}
