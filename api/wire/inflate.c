/* gzip and zstd decoders as readers. Several gzip members or zstd frames may follow one another, as
 * both formats say; anything else behind the end is damage. */
#include "api/wire/inflate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_createDStream_advanced */
#include <zstd.h>

#include "memory/memory.h"
#include "memory/wipe.h"

#define INPUT_SIZE       65536
#define ZSTD_WINDOW_LOG  23 /* 8 MiB, what RFC 9659 asks of senders */
#define RATIO_FREE_BYTES (UINT64_C(16) << 20)
#define RATIO_MAX        1100

struct inflate {
    enum inflate_encoding encoding;
    enum inflate_status status;
    struct byte_reader reader;
    uint64_t max_bytes, bytes_in, bytes_out;
    bool between; /* a member or frame is complete: the input may end here */
    bool inside;  /* a frame of zstd has begun and is not complete */
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t at, end; /* of what is left of INPUT */
    unsigned char input[INPUT_SIZE];
};

enum inflate_encoding inflate_encoding_find(const char *header)
{
    static const struct {
        const char *name;
        enum inflate_encoding encoding;
    } names[] = {{"", INFLATE_IDENTITY},
                 {"identity", INFLATE_IDENTITY},
                 {"gzip", INFLATE_GZIP},
                 {"x-gzip", INFLATE_GZIP},
                 {"zstd", INFLATE_ZSTD}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!header || strcasecmp(header, names[i].name) == 0)
            return names[i].encoding;
    return INFLATE_UNKNOWN;
}

/* The windows of both libraries hold what was read last. That of zstd is as large as the sender
 * wants, so that it may be refused. */
static void *window_zstd(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *window_gzip(void *context, unsigned count, unsigned size)
{
    (void)context;
    return memory_bytes((size_t)count * size);
}

static void window_free(void *context, void *block)
{
    (void)context;
    wipe_free(block);
}

struct inflate *inflate_new(enum inflate_encoding encoding, struct byte_reader reader,
                            uint64_t max_bytes)
{
    struct inflate *stream = memory_new(1, sizeof *stream);
    stream->encoding = encoding;
    stream->reader = reader;
    stream->max_bytes = max_bytes;
    stream->gzip.zalloc = window_gzip;
    stream->gzip.zfree = window_free;
    if (encoding == INFLATE_GZIP && inflateInit2(&stream->gzip, 15 + 16) != Z_OK)
        memory_must(NULL); /* 16: the gzip form only */
    if (encoding == INFLATE_ZSTD) {
        stream->zstd = memory_must(
            ZSTD_createDStream_advanced((ZSTD_customMem){window_zstd, window_free, NULL}));
        ZSTD_DCtx_setParameter(stream->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
    }
    return stream;
}

void inflate_free(struct inflate *stream)
{
    if (!stream)
        return;
    if (stream->encoding == INFLATE_GZIP)
        inflateEnd(&stream->gzip);
    ZSTD_freeDStream(stream->zstd);
    wipe_free(stream);
}

enum inflate_status inflate_status(const struct inflate *stream)
{
    return stream->status;
}

static long inflate_fail(struct inflate *stream, enum inflate_status status)
{
    stream->status = status;
    return -1;
}

/* Reads input when there is none: 1, 0 at its end, -1. */
static long more_input(struct inflate *stream)
{
    if (stream->at < stream->end)
        return 1;
    long got = stream->reader.read(stream->reader.context, stream->input, INPUT_SIZE);
    if (got <= 0)
        return got;
    stream->at = 0;
    stream->end = (size_t)got;
    stream->bytes_in += (uint64_t)got;
    return 1;
}

/* One round of zlib; gives the bytes written, or -1. */
static long gzip_round(struct inflate *stream, unsigned char *buffer, size_t size)
{
    z_stream *z = &stream->gzip;
    if (stream->between && inflateReset(z) != Z_OK)
        return inflate_fail(stream, INFLATE_CORRUPT);
    z->next_in = stream->input + stream->at;
    z->avail_in = (uInt)(stream->end - stream->at);
    z->next_out = buffer;
    z->avail_out = (uInt)size;
    int outcome = inflate(z, Z_NO_FLUSH);
    stream->at = stream->end - z->avail_in;
    stream->between = outcome == Z_STREAM_END;
    if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR)
        return inflate_fail(stream, INFLATE_CORRUPT);
    return (long)(size - z->avail_out);
}

/* Whether a frame may begin with that byte: RFC 8878's own or a skippable one. The library would
 * read what zstd wrote before there was a standard, too, by decoders that nobody tends. */
static bool begins_frame(unsigned char first)
{
    return first == 0x28 || (first & 0xf0) == 0x50;
}

static long zstd_round(struct inflate *stream, unsigned char *buffer, size_t size)
{
    ZSTD_inBuffer in = {stream->input, stream->end, stream->at};
    ZSTD_outBuffer out = {buffer, size, 0};
    if (!stream->inside && in.pos < in.size && !begins_frame(stream->input[in.pos]))
        return inflate_fail(stream, INFLATE_CORRUPT);
    stream->inside = stream->inside || in.pos < in.size;
    size_t hint = ZSTD_decompressStream(stream->zstd, &out, &in);
    stream->at = in.pos;
    if (ZSTD_isError(hint))
        return inflate_fail(stream, INFLATE_CORRUPT);
    stream->between = hint == 0;
    stream->inside = stream->inside && hint != 0;
    return (long)out.pos;
}

/* Counts GOT bytes and gives GOT back; -1 when they are too many. */
static long count_output(struct inflate *stream, long got)
{
    if (got < 0)
        return -1;
    stream->bytes_out += (uint64_t)got;
    bool bomb =
        stream->bytes_out > RATIO_FREE_BYTES && stream->bytes_out / RATIO_MAX > stream->bytes_in;
    if (stream->bytes_out > stream->max_bytes || bomb)
        return inflate_fail(stream, INFLATE_TOO_LARGE);
    return got;
}

static long read_decoded(void *context, unsigned char *buffer, size_t size)
{
    struct inflate *stream = context;
    if (stream->status != INFLATE_OK)
        return -1;
    if (stream->encoding == INFLATE_IDENTITY) {
        long got = stream->reader.read(stream->reader.context, buffer, size);
        if (got < 0)
            return inflate_fail(stream, INFLATE_GONE);
        stream->bytes_in += (uint64_t)got;
        return count_output(stream, got);
    }
    for (;;) {
        long more = more_input(stream);
        if (more < 0)
            return inflate_fail(stream, INFLATE_GONE);
        if (more == 0 && stream->between)
            return 0;
        if (more == 0 && stream->bytes_in == 0)
            return inflate_fail(stream, INFLATE_CORRUPT);
        long got = stream->encoding == INFLATE_GZIP ? gzip_round(stream, buffer, size)
                                                    : zstd_round(stream, buffer, size);
        if (got != 0)
            return count_output(stream, got);
        if (more == 0 && !stream->between)
            return inflate_fail(stream, INFLATE_CORRUPT);
        if (more == 0)
            return 0;
    }
}

struct byte_reader inflate_reader(struct inflate *stream)
{
    return (struct byte_reader){.context = stream, .read = read_decoded};
}
