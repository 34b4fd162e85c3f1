/* Small allocations, which do not fail: when the memory is gone, the process ends with one line on
 * stderr. The service survives `kill -9` at any moment, so it survives this end too.
 *
 * A size that a user chooses (a body, a dataset, a network, a batch) is no small allocation: ask
 * malloc or a buffer (buffer.h) for it, and answer with an error when it fails. */
#ifndef TACET_MEMORY_MEMORY_H
#define TACET_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* COUNT elements of SIZE bytes, all zero. The caller frees them with free(). */
void *memory_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull));

/* BLOCK with room for COUNT elements of SIZE bytes; what is new in it is not set. NULL makes a new
 * block. */
void *memory_resize(void *block, size_t count, size_t size) __attribute__((returns_nonnull));

/* A copy of SIZE bytes. The caller frees it. */
void *memory_copy(const void *bytes, size_t size) __attribute__((malloc, returns_nonnull));

/* A copy of a text that NUL ends. The caller frees it. */
char *memory_copy_text(const char *text) __attribute__((malloc, returns_nonnull));

/* What printf would print, as a text that the caller frees. */
char *memory_format(const char *format, ...)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* SIZE bytes that are not set, for libraries that take an allocator (jansson). */
void *memory_bytes(size_t size) __attribute__((malloc, returns_nonnull));

/* Whether SIZE bytes could be had now. Asked once, before work whose size a user has chosen, for
 * all that the work will take: an error answers when it does not fit, and memory_new does the rest.
 */
bool memory_fits(size_t size);

/* Gives BLOCK back, and ends the process when it is NULL: for libraries that return NULL only when
 * memory is short. */
void *memory_must(void *block) __attribute__((returns_nonnull));

#endif
