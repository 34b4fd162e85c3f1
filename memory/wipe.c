/* The allocator knows the size of a block. A block as large as LARGE is mapped by itself: its pages
 * move or go back to the system whole, so that nothing is left behind. */
#include "memory/wipe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define DEEP  ((size_t)32 << 10) /* of a stack of 8 MiB */
#define LARGE ((size_t)32 << 20)

void wipe_free(void *block)
{
    if (!block)
        return;
    explicit_bzero(block, malloc_usable_size(block));
    free(block);
}

void *wipe_resize(void *block, size_t size)
{
    size_t had = block ? malloc_usable_size(block) : 0;
    if (had == 0 || had > LARGE)
        return realloc(block, size);
    void *larger = malloc(size);
    if (!larger)
        return NULL;
    memcpy(larger, block, had < size ? had : size);
    wipe_free(block);
    return larger;
}

__attribute__((noinline)) void wipe_stack(void)
{
    unsigned char deep[DEEP];
    explicit_bzero(deep, sizeof deep);
}
