/* A bump allocator over a chain of blocks; the first is inside the arena. */
#include "api/call/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

#define ALIGNMENT   16
#define BLOCK_BYTES ((size_t)64 * 1024)

struct arena_block {
    struct arena_block *older;
    size_t size;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

void arena_init(struct arena *arena)
{
    arena->blocks = NULL;
    arena->used = 0;
}

void arena_clear(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *older = arena->blocks->older;
        free(arena->blocks);
        arena->blocks = older;
    }
    arena->used = 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        memory_must(NULL);
    size_t rounded = ((size > 0 ? size : 1) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct arena_block *block = arena->blocks;
    size_t room = block ? block->size : ARENA_INLINE_BYTES;
    assert(arena->used <= room);
    if (room - arena->used < rounded) {
        room = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES;
        block = memory_must(malloc(sizeof *block + room));
        block->older = arena->blocks;
        block->size = room;
        arena->blocks = block;
        arena->used = 0;
    }
    unsigned char *base = block ? block->bytes : arena->inline_bytes;
    void *bytes = base + arena->used;
    arena->used += rounded;
    return bytes;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        memory_must(NULL);
    return memset(arena_alloc(arena, bytes), 0, bytes);
}

char *arena_copy(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    va_end(arguments);
    char *text = arena_alloc(arena, size);
    vsnprintf(text, size, format, again);
    va_end(again);
    return text;
}
