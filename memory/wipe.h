/* Memory that held private data. What is freed is wiped first, so that it does not stay in the
 * process until something else is written there. */
#ifndef TACET_MEMORY_WIPE_H
#define TACET_MEMORY_WIPE_H

#include <stddef.h>

/* Wipes BLOCK, of malloc, and frees it. NULL is fine. */
void wipe_free(void *block);

/* As realloc to SIZE bytes; the former place is wiped. */
void *wipe_resize(void *block, size_t size);

/* Wipes what calls that have returned left on the stack of this thread, below the caller: copies of
 * registers, for instance. */
void wipe_stack(void);

#endif
