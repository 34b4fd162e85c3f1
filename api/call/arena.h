/* Memory that lives as long as one request: handed out in steps, freed all at once. The first
 * kilobytes are inside the arena itself, so that a short request asks malloc for nothing. */
#ifndef TACET_API_CALL_ARENA_H
#define TACET_API_CALL_ARENA_H

#include <stddef.h>

#define ARENA_INLINE_BYTES 4096

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used;                /* of the newest block, or of INLINE_BYTES when there is none */
    _Alignas(16) unsigned char inline_bytes[ARENA_INLINE_BYTES];
};

/* An empty arena. */
void arena_init(struct arena *arena);

/* Frees all that was handed out. */
void arena_clear(struct arena *arena);

/* Gives SIZE bytes, aligned for any type and not cleared. Running out of memory ends the process,
 * here and in the functions below. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((returns_nonnull));

/* COUNT cleared elements of SIZE bytes. */
void *arena_array(struct arena *arena, size_t count, size_t size) __attribute__((returns_nonnull));

/* Copies SIZE bytes and adds a NUL. */
char *arena_copy(struct arena *arena, const char *text, size_t size)
    __attribute__((returns_nonnull));

/* Gives the text that printf would print. */
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

#endif
