/* A growing buffer of bytes with a lid: the only growing buffer of the program. Users often choose
 * its size, so the buffer reports a lack of room instead of ending the process. */
#ifndef TACET_MEMORY_BUFFER_H
#define TACET_MEMORY_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Begin with {.lid = MOST}, or buffer_init. */
struct buffer {
    char *bytes; /* the first SIZE are set; a NUL follows them. NULL while nothing was added */
    size_t size;
    size_t room; /* bytes that are allocated */
    size_t lid;  /* the most that SIZE may become */
    bool failed; /* something did not fit, or memory was short; nothing more is added */
};

/* An empty buffer that may grow to LID bytes. Allocates nothing. */
void buffer_init(struct buffer *buffer, size_t lid);

/* Makes room for SIZE more bytes and returns where they go, or NULL (and sets FAILED) when the lid
 * or the memory is reached. The caller writes there and then adds to buffer->size. */
char *buffer_reserve(struct buffer *buffer, size_t size);

/* Adds SIZE bytes. False when they do not fit; the buffer then has FAILED and keeps what it had. A
 * caller may add many times and look at FAILED once. */
bool buffer_add(struct buffer *buffer, const void *bytes, size_t size);

/* Adds TEXT, which a NUL ends, as buffer_add does. */
bool buffer_add_text(struct buffer *buffer, const char *text);

/* Adds what printf would print, as buffer_add does. */
bool buffer_add_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Gives the bytes to the caller, who frees them; they end with a NUL that *out_size does not count.
 * NULL when the buffer has FAILED. The buffer is empty afterwards. */
char *buffer_take(struct buffer *buffer, size_t *out_size);

/* Frees the bytes; the buffer is empty and keeps its lid. */
void buffer_clear(struct buffer *buffer);

#endif
