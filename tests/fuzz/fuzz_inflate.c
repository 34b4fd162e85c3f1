/* Any bytes as a compressed upload. The first byte chooses encoding, direction and the size of
 * reads, the second the limit; the rest is the stream, or what is to be compressed, or the name of
 * a file.
 *
 * What comes out does not depend on how the bytes arrive, and what was compressed comes back. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "api/wire/deflate.h"
#include "tests/fuzz/fuzz.h"

struct outcome {
    enum inflate_status status;
    uint64_t sum, size; /* of what came out */
};

/* Reads the stream to its end, TAKE bytes at a time. */
static struct outcome read_stream(enum inflate_encoding encoding, struct fuzz_source source,
                                  size_t take, uint64_t limit)
{
    struct outcome outcome = {.sum = FUZZ_SUM_START};
    unsigned char *buffer = malloc(take);
    struct inflate *inflate = inflate_new(encoding, fuzz_reader(&source), limit);
    assert(inflate && buffer);
    struct byte_reader reader = inflate_reader(inflate);
    long got;
    while ((got = reader.read(reader.context, buffer, take)) > 0) {
        assert((size_t)got <= take);
        fuzz_add(&outcome.sum, buffer, (size_t)got);
        outcome.size += (uint64_t)got;
        assert(outcome.size <= limit);
    }
    outcome.status = inflate_status(inflate);
    assert((got < 0) == (outcome.status != INFLATE_OK) && outcome.status != INFLATE_GONE);
    inflate_free(inflate);
    free(buffer);
    return outcome;
}

static void round_trip(enum inflate_encoding encoding, const uint8_t *data, size_t size)
{
    uint64_t sum = FUZZ_SUM_START;
    char *bytes;
    size_t packed;
    assert(deflate_bytes(encoding, data, size, &bytes, &packed));
    struct fuzz_source source = {(uint8_t *)bytes, packed, 0, 0};
    struct outcome back = read_stream(encoding, source, 1000, size + 1);
    fuzz_add(&sum, data, size);
    assert(back.status == INFLATE_OK && back.size == size && back.sum == sum);
    free(bytes);
}

/* The encoding by a file's ending: at least one byte stands before it. */
static void name_file(const uint8_t *data, size_t size)
{
    char *path = fuzz_copy(data, size, true);
    const char *name = deflate_name(deflate_of_ending(path)), *dot = strrchr(path, '.');
    bool ends = dot > path && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0);
    assert((name != NULL) == ends);
    free(path);
}

/* True when a frame of zstd declares its size. */
static bool says_sizes(const uint8_t *data, size_t size)
{
    for (size_t frame; size > 0; data += frame, size -= frame) {
        if (ZSTD_getFrameContentSize(data, size) < ZSTD_CONTENTSIZE_ERROR)
            return true;
        frame = ZSTD_findFrameCompressedSize(data, size);
        if (ZSTD_isError(frame) || frame == 0)
            return false;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum inflate_encoding encodings[] = {INFLATE_GZIP, INFLATE_ZSTD, INFLATE_IDENTITY};
    uint8_t how = fuzz_byte(&data, &size), bound = fuzz_byte(&data, &size);
    enum inflate_encoding encoding = encodings[how % 3];
    uint64_t limit = bound < 200 ? 1U << 20 : bound;
    if (how >= 192 && encoding == INFLATE_IDENTITY) {
        name_file(data, size);
        return 0;
    }
    if (how >= 192) {
        round_trip(encoding, data, size);
        return 0;
    }
    struct outcome whole =
        read_stream(encoding, (struct fuzz_source){data, size, 0, 0}, 65536, limit);
    struct outcome pieces = read_stream(encoding, (struct fuzz_source){data, size, 0, 1 + how / 3U},
                                        1 + how / 2U, limit);
    /* libzstd 1.5 compares a frame with the size that it declares only where it reads it at once.
     */
    bool lies =
        encoding == INFLATE_ZSTD && whole.status == INFLATE_CORRUPT && says_sizes(data, size);
    assert(lies || (whole.status == INFLATE_OK) == (pieces.status == INFLATE_OK));
    assert(whole.status != INFLATE_OK || (whole.size == pieces.size && whole.sum == pieces.sum));
    return 0;
}
