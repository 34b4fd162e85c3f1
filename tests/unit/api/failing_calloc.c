#include "tests/unit/api/failing_calloc.h"

#include <stddef.h>

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
