/* Small allocations, which do not fail: when the memory is gone, the process ends with one line on
 * stderr. The service survives `kill -9` at any moment, so it survives this end too.
 *
 * A size that a user chooses (a body, a dataset, a network, a batch) is no small allocation: ask
 * malloc or a buffer (buffer.h) for it, and answer with an error when it fails. */
#ifndef TACET_MEMORY_MEMORY_H
#define TACET_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Allocates COUNT elements of SIZE bytes, all zero. The caller frees them with free(). */
void *memory_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull));

/* One zeroed element of SIZE bytes whose type asks for ALIGNMENT (_Alignof), which may be more than
 * malloc gives: compilers use instructions that end the process at another address. The caller
 * frees it with free(). */
void *memory_new_aligned(size_t alignment, size_t size) __attribute__((malloc, returns_nonnull));

/* Resizes BLOCK to COUNT elements of SIZE bytes; new elements are not set. NULL makes a new
 * block. */
void *memory_resize(void *block, size_t count, size_t size) __attribute__((returns_nonnull));

/* A copy of SIZE bytes. The caller frees it. */
void *memory_copy(const void *bytes, size_t size) __attribute__((malloc, returns_nonnull));

/* A copy of a text that NUL ends. The caller frees it. */
char *memory_copy_text(const char *text) __attribute__((malloc, returns_nonnull));

/* The text that printf would print. The caller frees it. */
char *memory_format(const char *format, ...)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* Allocates SIZE bytes that are not set, for libraries that take an allocator (jansson). */
void *memory_bytes(size_t size) __attribute__((malloc, returns_nonnull));

/* True when SIZE bytes could be allocated now. Callers ask once, for the whole of a work whose size
 * a user has chosen. If the answer is false, the user gets an error; if it is true, the work uses
 * memory_new. */
bool memory_fits(size_t size);

/* Returns BLOCK, and ends the process when BLOCK is NULL: for libraries that return NULL only when
 * memory is short. */
void *memory_must(void *block) __attribute__((returns_nonnull));

#endif
