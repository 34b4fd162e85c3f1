/* Small allocations that end the process when they fail. */
#include "memory/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Uses neither stdio, which allocates, nor a core file, which could hold private data. */
static _Noreturn void memory_end(void)
{
    static const char line[] = "tacet: the memory is used up; the process ends\n";
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
    (void)written;
    _exit(EXIT_FAILURE);
}

void *memory_must(void *block)
{
    if (!block)
        memory_end();
    return block;
}

bool memory_fits(size_t size)
{
    /* Volatile: a compiler may leave out an allocation that nothing uses, and clang does. */
    void *volatile block = malloc(size > 0 ? size : 1);
    bool fits = block;
    free(block);
    return fits;
}

void *memory_new(size_t count, size_t size)
{
    return memory_must(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *memory_new_aligned(size_t alignment, size_t size)
{
    return memset(memory_must(aligned_alloc(alignment, size)), 0, size);
}

void *memory_resize(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        memory_end();
    return memory_must(realloc(block, bytes > 0 ? bytes : 1));
}

void *memory_bytes(size_t size)
{
    return memory_must(malloc(size > 0 ? size : 1));
}

void *memory_copy(const void *bytes, size_t size)
{
    void *copy = memory_bytes(size);
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

char *memory_copy_text(const char *text)
{
    return memory_copy(text, strlen(text) + 1);
}

char *memory_format(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return memory_must(length < 0 ? NULL : text);
}
