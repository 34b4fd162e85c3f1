#include "api/proof/line_reader.h"

#include <string.h>

#define PIECE ((size_t)1 << 18)

/* Moves what is left to the front and reads more behind it. */
static enum line_status read_more(struct line_reader *lines)
{
    struct buffer *bytes = &lines->bytes;
    bytes->lid = LINE_MOST + PIECE;
    bytes->size -= lines->at;
    if (bytes->size > 0 && lines->at > 0)
        memmove(bytes->bytes, bytes->bytes + lines->at, bytes->size);
    lines->at = 0;
    char *to = buffer_reserve(bytes, PIECE);
    if (!to)
        return LINE_TOO_LONG;
    long got = lines->reader.read(lines->reader.context, (unsigned char *)to, PIECE);
    if (got < 0)
        return LINE_FAILED;
    bytes->size += (size_t)got;
    lines->ended = got == 0;
    return LINE_READ;
}

enum line_status line_read(struct line_reader *lines, char **out, size_t *out_size)
{
    struct buffer *bytes = &lines->bytes;
    size_t seen = 0; /* of the line, without an end */
    for (;;) {
        size_t left = bytes->size - lines->at;
        char *line = left > 0 ? bytes->bytes + lines->at : NULL;
        char *end = left > seen ? memchr(line + seen, '\n', left - seen) : NULL;
        if (end) {
            *out = line;
            *out_size = (size_t)(end + 1 - line);
            lines->at += *out_size;
            return LINE_READ;
        }
        if (lines->ended)
            return left == 0 ? LINE_END : LINE_CUT;
        if (left > LINE_MOST)
            return LINE_TOO_LONG;
        seen = left;
        enum line_status status = read_more(lines);
        if (status != LINE_READ)
            return status;
    }
}
