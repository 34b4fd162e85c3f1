/* A growing buffer with a lid. The room doubles, so that the cost of adding is linear in the bytes
 * added. What it held is wiped where it was, because it may have come from a body. */
#include "memory/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/wipe.h"

#define FIRST_ROOM 256

void buffer_init(struct buffer *buffer, size_t lid)
{
    *buffer = (struct buffer){.lid = lid};
}

char *buffer_reserve(struct buffer *buffer, size_t size)
{
    bool fits = !buffer->failed && size <= buffer->lid - buffer->size && buffer->lid < SIZE_MAX / 2;
    if (!fits) {
        buffer->failed = true;
        return NULL;
    }
    size_t need = buffer->size + size + 1; /* and the NUL */
    if (need > buffer->room) {
        size_t room = buffer->room > 0 ? buffer->room : FIRST_ROOM;
        while (room < need)
            room *= 2;
        char *bytes = wipe_resize(buffer->bytes, room);
        if (!bytes) {
            buffer->failed = true;
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->room = room;
    }
    return buffer->bytes + buffer->size;
}

bool buffer_add(struct buffer *buffer, const void *bytes, size_t size)
{
    char *place = buffer_reserve(buffer, size);
    if (!place)
        return false;
    if (size > 0)
        memcpy(place, bytes, size);
    buffer->size += size;
    buffer->bytes[buffer->size] = '\0';
    return true;
}

bool buffer_add_text(struct buffer *buffer, const char *text)
{
    return buffer_add(buffer, text, strlen(text));
}

bool buffer_add_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t spare = buffer->room - buffer->size;
    char *place = spare > 0 ? buffer->bytes + buffer->size : NULL;
    int length = vsnprintf(place, spare, format, arguments);
    va_end(arguments);
    place = length < 0 ? NULL : buffer_reserve(buffer, (size_t)length);
    if (place) {
        if ((size_t)length >= spare)
            vsnprintf(place, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    } else if (spare > 0) {
        buffer->bytes[buffer->size] = '\0'; /* over what did not fit */
    }
    va_end(again);
    return place != NULL;
}

char *buffer_take(struct buffer *buffer, size_t *out_size)
{
    if (!buffer_reserve(buffer, 0)) {
        buffer_clear(buffer);
        return NULL;
    }
    char *bytes = buffer->bytes;
    bytes[buffer->size] = '\0';
    if (out_size)
        *out_size = buffer->size;
    buffer_init(buffer, buffer->lid);
    return bytes;
}

void buffer_clear(struct buffer *buffer)
{
    wipe_free(buffer->bytes);
    buffer_init(buffer, buffer->lid);
}
