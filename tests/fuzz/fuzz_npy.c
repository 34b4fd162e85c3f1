/* Any bytes as an array of NumPy: prefix, description, first element. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/npy_header.h"
#include "tests/fuzz/fuzz.h"

/* Reads the first element where all its bytes are there. */
static void read_element(const struct npy_header *header, const uint8_t *bytes, size_t size)
{
    char text[66];
    if (size < header->size)
        return;
    if (header->kind == 'S' || header->kind == 'U') {
        npy_text(header, bytes, text, sizeof text);
        assert(strlen(text) < sizeof text);
    } else {
        (void)npy_number(header, bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy_header header;
    size_t start, length;
    if (size < NPY_PREFIX_SIZE || npy_prefix_read(data, &start, &length) || size - start < length)
        return 0;
    char *text = malloc(length + 1); /* so that a byte too many is noticed */
    assert(text);
    memcpy(text, data + start, length);
    const char *problem = npy_header_read(text, length, &header);
    free(text);
    if (problem)
        return 0;
    assert(header.dimensions >= 1 && header.dimensions <= NPY_DIMENSIONS);
    assert(strchr("fiubSU", header.kind) && header.size >= 1);
    assert(header.rows == header.shape[0]);
    assert(header.rows == 0 || header.width == 0 ||
           header.bytes / header.rows / header.width == header.size);
    read_element(&header, data + start + length, size - start - length);
    return 0;
}
