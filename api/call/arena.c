/* A bump allocator over a chain of blocks; the first is inside the arena. */
#include "api/call/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (size == 0 || size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct arena_block *block = arena->blocks;
    size_t room = !block ? ARENA_INLINE_BYTES : block->size;
    assert(arena->used <= room);
    if (room - arena->used < size) {
        room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = malloc(sizeof *block + room);
        if (!block)
            return NULL;
        block->older = arena->blocks;
        block->size = room;
        arena->blocks = block;
        arena->used = 0;
    }
    unsigned char *base = !block ? arena->inline_bytes : block->bytes;
    void *bytes = base + arena->used;
    arena->used += size;
    return bytes;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    void *array = arena_alloc(arena, count * size);
    if (array)
        memset(array, 0, count * size);
    return array;
}

char *arena_copy(struct arena *arena, const char *text, size_t size)
{
    if (size == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(arena, size + 1);
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}
