/* Decoding uploads: gzip and zstd, whole, in pieces, several in a row, cut off, damaged, and bombs.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "api/wire/inflate.h"
#include "tests/unit/api/source.h"

/* Decodes all; gives the bytes, or -1 with the kind of failure. */
static long decode(enum inflate_encoding encoding, struct source source, uint64_t most,
                   unsigned char *out, size_t room, enum inflate_status *status)
{
    struct inflate *inflate = inflate_new(encoding, source_reader(&source), most);
    cr_assert(inflate != NULL);
    struct byte_reader reader = inflate_reader(inflate);
    unsigned char piece[1000];
    size_t total = 0;
    long got;
    while ((got = reader.read(reader.context, piece, sizeof piece)) > 0) {
        if (out != NULL) {
            cr_assert(total + (size_t)got <= room);
            memcpy(out + total, piece, (size_t)got);
        }
        total += (size_t)got;
    }
    *status = inflate_status(inflate);
    if (got < 0)
        cr_assert_eq(reader.read(reader.context, piece, sizeof piece), -1, "it stays failed");
    inflate_free(inflate);
    return got < 0 ? -1 : (long)total;
}

#define TEXT_SIZE 300000

static unsigned char *make_text(void)
{
    unsigned char *text = malloc(TEXT_SIZE);
    uint32_t x = 1;
    for (size_t i = 0; i < TEXT_SIZE; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (unsigned char)("0123456789,.[]{}"[x >> 28]);
    }
    return text;
}

static size_t gzip(const void *bytes, size_t size, unsigned char *out, size_t room)
{
    z_stream z = {0};
    cr_assert(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)bytes;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    cr_assert(deflate(&z, Z_FINISH) == Z_STREAM_END);
    size_t length = z.total_out;
    deflateEnd(&z);
    return length;
}

static size_t pack(enum inflate_encoding encoding, const void *bytes, size_t size,
                   unsigned char *out, size_t room)
{
    if (encoding == INFLATE_GZIP)
        return gzip(bytes, size, out, room);
    if (encoding == INFLATE_ZSTD) {
        size_t length = ZSTD_compress(out, room, bytes, size, 3);
        cr_assert(!ZSTD_isError(length));
        return length;
    }
    memcpy(out, bytes, size);
    return size;
}

Test(inflate, knows_encodings_by_name)
{
    cr_assert_eq(inflate_encoding_find(NULL), INFLATE_IDENTITY);
    cr_assert_eq(inflate_encoding_find("identity"), INFLATE_IDENTITY);
    cr_assert_eq(inflate_encoding_find("GZIP"), INFLATE_GZIP);
    cr_assert_eq(inflate_encoding_find("zstd"), INFLATE_ZSTD);
    cr_assert_eq(inflate_encoding_find("br"), INFLATE_UNKNOWN);
    cr_assert_eq(inflate_encoding_find("gzip, zstd"), INFLATE_UNKNOWN);
}

Test(inflate, gives_back_what_was_packed_however_it_arrives)
{
    unsigned char *text = make_text(), *packed = malloc(2 * TEXT_SIZE), *out = malloc(TEXT_SIZE);
    for (int e = INFLATE_IDENTITY; e <= INFLATE_ZSTD; e++) {
        enum inflate_encoding encoding = (enum inflate_encoding)e;
        /* Two members, one behind the other. */
        size_t half = TEXT_SIZE / 2;
        size_t size = pack(encoding, text, half, packed, 2 * TEXT_SIZE);
        size += pack(encoding, text + half, half, packed + size, TEXT_SIZE);
        for (size_t step = 0; step < 3000; step = step * 7 + 1) {
            enum inflate_status status;
            memset(out, 0, TEXT_SIZE);
            long got = decode(encoding, (struct source){packed, size, 0, step, false}, TEXT_SIZE,
                              out, TEXT_SIZE, &status);
            cr_assert_eq(got, TEXT_SIZE);
            cr_assert_eq(status, INFLATE_OK);
            cr_assert(memcmp(out, text, TEXT_SIZE) == 0);
        }
    }
    free(text);
    free(packed);
    free(out);
}

Test(inflate, refuses_what_is_cut_off_or_damaged)
{
    unsigned char *text = make_text(), *packed = malloc(2 * TEXT_SIZE);
    enum inflate_status status;
    for (int e = INFLATE_GZIP; e <= INFLATE_ZSTD; e++) {
        enum inflate_encoding encoding = (enum inflate_encoding)e;
        size_t size = pack(encoding, text, 5000, packed, TEXT_SIZE);
        for (size_t cut = 0; cut < size; cut += 1 + cut / 9) {
            struct source source = {packed, cut, 0, 0, false};
            cr_assert_eq(decode(encoding, source, TEXT_SIZE, NULL, 0, &status), -1, "%zu", cut);
            cr_assert_eq(status, INFLATE_CORRUPT);
            source = (struct source){packed, cut, 0, 0, true};
            cr_assert_eq(decode(encoding, source, TEXT_SIZE, NULL, 0, &status), -1);
            cr_assert_eq(status, INFLATE_GONE);
        }
        packed[size] = 'x'; /* something behind the end */
        struct source source = {packed, size + 1, 0, 0, false};
        cr_assert_eq(decode(encoding, source, TEXT_SIZE, NULL, 0, &status), -1);
        cr_assert_eq(status, INFLATE_CORRUPT);
        source = (struct source){text, 100, 0, 0, false};
        cr_assert_eq(decode(encoding, source, TEXT_SIZE, NULL, 0, &status), -1);
        cr_assert_eq(status, INFLATE_CORRUPT);
    }
    /* gzip has a checksum over everything. */
    size_t size = gzip(text, 5000, packed, TEXT_SIZE);
    packed[size / 2] ^= 1;
    struct source source = {packed, size, 0, 0, false};
    cr_assert_eq(decode(INFLATE_GZIP, source, TEXT_SIZE, NULL, 0, &status), -1);
    cr_assert_eq(status, INFLATE_CORRUPT);
    free(text);
    free(packed);
}

/* What zstd wrote before RFC 8878 is another format, whichever way its bytes arrive; what the RFC
 * lets one skip is skipped. */
Test(inflate, refuses_zstd_of_before_its_standard)
{
    static const unsigned char skipped[] = {0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'a', 'b'};
    unsigned char packed[100], out[8];
    enum inflate_status status;
    memcpy(packed, skipped, sizeof skipped);
    size_t size = sizeof skipped + pack(INFLATE_ZSTD, "x", 1, packed + sizeof skipped, 80);
    for (size_t step = 0; step < 3; step++) {
        struct source good = {packed, size, 0, step, false};
        cr_expect_eq(decode(INFLATE_ZSTD, good, TEXT_SIZE, out, sizeof out, &status), 1);
        for (unsigned char magic = 0x22; magic < 0x28; magic++) {
            unsigned char old[] = {magic, 0xb5, 0x2f, 0xfd, 0x04, 0xff, 0xff, 0xff};
            struct source source = {old, sizeof old, 0, step, false};
            cr_expect_eq(decode(INFLATE_ZSTD, source, TEXT_SIZE, NULL, 0, &status), -1);
            cr_expect_eq(status, INFLATE_CORRUPT);
        }
    }
}

Test(inflate, stops_at_its_limit_and_at_bombs)
{
    size_t large = 64U << 20;
    unsigned char *zeros = calloc(1, large), *packed = malloc(1U << 20);
    enum inflate_status status;
    size_t size = gzip(zeros, large, packed, 1U << 20);
    struct source source = {packed, size, 0, 0, false};
    cr_assert_eq(decode(INFLATE_GZIP, source, large, NULL, 0, &status), (long)large,
                 "what deflate can do is no bomb");
    cr_assert_eq(decode(INFLATE_GZIP, source, large - 1, NULL, 0, &status), -1);
    cr_assert_eq(status, INFLATE_TOO_LARGE);
    size = ZSTD_compress(packed, 1U << 20, zeros, large, 3);
    cr_assert(!ZSTD_isError(size) && size < large / 2000);
    source = (struct source){packed, size, 0, 0, false};
    cr_assert_eq(decode(INFLATE_ZSTD, source, UINT64_MAX, NULL, 0, &status), -1);
    cr_assert_eq(status, INFLATE_TOO_LARGE);
    source = (struct source){zeros, 100, 0, 0, false};
    cr_assert_eq(decode(INFLATE_IDENTITY, source, 99, NULL, 0, &status), -1);
    cr_assert_eq(status, INFLATE_TOO_LARGE);
    free(zeros);
    free(packed);
}
