/* What deflate.h makes, inflate.h reads: alone, one behind another, and cut between two. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/deflate.h"

struct bytes {
    const char *at;
    size_t left;
};

static long read_some(void *context, unsigned char *buffer, size_t size)
{
    struct bytes *bytes = context;
    size_t n = size < bytes->left ? size : bytes->left;
    n = n < 1000 ? n : 1000; /* members do not end where reads do */
    memcpy(buffer, bytes->at, n);
    bytes->at += n;
    bytes->left -= n;
    return (long)n;
}

/* Decodes; the test ends when that fails or gives other bytes. */
static void check(enum inflate_encoding encoding, const char *packed, size_t packed_size,
                  const char *expected, size_t size)
{
    struct bytes bytes = {packed, packed_size};
    struct inflate *stream =
        inflate_new(encoding, (struct byte_reader){&bytes, read_some}, UINT64_MAX);
    cr_assert_not_null(stream);
    unsigned char *got = malloc(size + 1);
    size_t used = 0;
    long n;
    while ((n = inflate_reader(stream).read(stream, got + used, size + 1 - used)) > 0)
        used += (size_t)n;
    cr_assert_eq(n, 0);
    cr_assert_eq(used, size);
    cr_assert_eq(memcmp(got, expected, size), 0);
    free(got);
    inflate_free(stream);
}

/* Text that compresses, with noise that does not. */
static char *make_text(size_t size)
{
    char *text = malloc(size + 1);
    unsigned state = 12345;
    cr_assert_not_null(text);
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        text[i] = i % 3 == 0 ? (char)(state >> 24) : "[0.125,1]"[i % 9];
    }
    return text;
}

Test(deflate, comes_back_as_it_was)
{
    static const size_t sizes[] = {0, 1, 1000, 3000000};
    for (int e = 0; e < 2; e++) {
        enum inflate_encoding encoding = e == 0 ? INFLATE_GZIP : INFLATE_ZSTD;
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            char *text = make_text(sizes[i]), *packed[2];
            size_t packed_size[2];
            for (int k = 0; k < 2; k++)
                cr_assert(deflate_bytes(encoding, text, sizes[i], &packed[k], &packed_size[k]));
            check(encoding, packed[0], packed_size[0], text, sizes[i]);
            cr_assert_eq(packed_size[0], packed_size[1]);
            cr_assert_eq(memcmp(packed[0], packed[1], packed_size[0]), 0, "not deterministic");
            free(packed[0]);
            free(packed[1]);
            free(text);
        }
    }
}

Test(deflate, several_make_one_stream)
{
    for (int e = 0; e < 2; e++) {
        enum inflate_encoding encoding = e == 0 ? INFLATE_GZIP : INFLATE_ZSTD;
        size_t size = 50000, half = 20000, first_size, second_size;
        char *text = make_text(size), *first, *second;
        cr_assert(deflate_bytes(encoding, text, half, &first, &first_size));
        cr_assert(deflate_bytes(encoding, text + half, size - half, &second, &second_size));
        char *both = malloc(first_size + second_size);
        memcpy(both, first, first_size);
        memcpy(both + first_size, second, second_size);
        check(encoding, both, first_size + second_size, text, size);
        check(encoding, both, first_size, text, half);
        free(both);
        free(first);
        free(second);
        free(text);
    }
}

Test(deflate, names)
{
    cr_expect_eq(deflate_of_ending("a/b.ndjson"), INFLATE_IDENTITY);
    cr_expect_eq(deflate_of_ending("b.ndjson.gz"), INFLATE_GZIP);
    cr_expect_eq(deflate_of_ending("b.zst"), INFLATE_ZSTD);
    cr_expect_eq(deflate_of_ending("gz"), INFLATE_IDENTITY);
    cr_expect_eq(deflate_of_ending(".gz"), INFLATE_IDENTITY);
    cr_expect_eq(deflate_of_ending(""), INFLATE_IDENTITY);
    cr_expect_str_eq(deflate_name(INFLATE_GZIP), "gzip");
    cr_expect_str_eq(deflate_name(INFLATE_ZSTD), "zstd");
    cr_expect_null(deflate_name(INFLATE_IDENTITY));
}
