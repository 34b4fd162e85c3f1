/* Pieces of them. */
#include "tests/unit/api/source.h"

#include <string.h>

static long read_source(void *context, unsigned char *buffer, size_t size)
{
    struct source *source = context;
    size_t left = source->size - source->at;
    if (left == 0)
        return source->broken ? -1 : 0;
    size = size < left ? size : left;
    size = source->step != 0 && source->step < size ? source->step : size;
    memcpy(buffer, (const unsigned char *)source->bytes + source->at, size);
    source->at += size;
    return (long)size;
}

struct byte_reader source_reader(struct source *source)
{
    return (struct byte_reader){source, read_source};
}
