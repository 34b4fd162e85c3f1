/* A source of bytes: the body of a request as it arrives, or its decompressed bytes. */
#ifndef TACET_API_JSON_BYTE_READER_H
#define TACET_API_JSON_BYTE_READER_H

#include <stddef.h>

/* READ waits for bytes and writes at most SIZE of them to BUFFER. It returns their number, 0 at the
 * end, or -1 when the sender is gone. CONTEXT is the reader's own. */
struct byte_reader {
    void *context;
    long (*read)(void *context, unsigned char *buffer, size_t size);
};

#endif
