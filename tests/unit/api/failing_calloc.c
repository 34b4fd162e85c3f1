#include "tests/unit/api/failing_calloc.h"

#include <stddef.h>

#include "memory/memory.h"

atomic_int callocs_left = -1;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    int left = atomic_load(&callocs_left);
    while (left >= 0 && !atomic_compare_exchange_weak(&callocs_left, &left, left - 1))
        continue;
    return left == 0 ? NULL : __real_calloc(count, size);
}

void *__wrap_memory_new(size_t count, size_t size);

/* Small allocations do not fail, they end the process: they are not counted. */
void *__wrap_memory_new(size_t count, size_t size)
{
    return memory_must(__real_calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}
