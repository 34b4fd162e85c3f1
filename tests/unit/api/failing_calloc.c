#include "tests/unit/api/failing_calloc.h"

#include <stdbool.h>
#include <stddef.h>

int callocs_left = -1;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    bool fails = callocs_left == 0;
    callocs_left -= callocs_left >= 0;
    return fails ? NULL : __real_calloc(count, size);
}
