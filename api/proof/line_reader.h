/* Lines of a stream, of which each fits into memory. */
#ifndef TACET_API_PROOF_LINE_READER_H
#define TACET_API_PROOF_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/byte_reader.h"
#include "memory/buffer.h"

#define LINE_MOST ((size_t)64 << 20) /* bytes of a line */

struct line_reader {
    struct byte_reader reader;
    struct buffer bytes; /* what was read; the line begins at AT */
    size_t at;
    bool ended;
};

enum line_status {
    LINE_READ,
    LINE_END,      /* no byte is left */
    LINE_CUT,      /* the last line has no end */
    LINE_TOO_LONG, /* more than LINE_MOST, or than memory */
    LINE_FAILED,   /* the reader failed */
};

/* Gives the next line with its newline, in the reader's own memory: until the next call. The byte
 * behind *OUT's SIZE bytes is not the line's. */
enum line_status line_read(struct line_reader *lines, char **out, size_t *out_size);

#endif
