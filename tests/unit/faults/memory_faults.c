/* The linker gives the program's allocations to these (tests.mk). They count while the product
 * serves a request or a worker takes its turn; what tests allocate does not count. */
#include "tests/unit/faults/memory_faults.h"

#include <errno.h>
#include <stdlib.h>

#include "api/api.h"
#include "memory/memory.h"

int memory_calls_left = -1;
bool memory_stays;
unsigned memory_failures;
jmp_buf memory_process_end;

static unsigned product_depth, small_depth;

/* True: this allocation fails. */
static bool alloc_fails(void)
{
    if (product_depth == 0 || small_depth > 0 || memory_calls_left < 0)
        return false;
    if (memory_calls_left > 0) {
        memory_calls_left--;
        return false;
    }
    memory_calls_left = memory_stays ? 0 : -1;
    memory_failures++;
    errno = ENOMEM;
    return true;
}

/* What the linker calls by these names is declared nowhere else. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size)
{
    return alloc_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return alloc_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return alloc_fails() ? NULL : __real_realloc(block, size);
}

/* ---- small ones */

#define SMALL(name, parameters, arguments)                                                         \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        small_depth++;                                                                             \
        void *made = __real_##name arguments;                                                      \
        small_depth--;                                                                             \
        return made;                                                                               \
    }

SMALL(memory_new, (size_t count, size_t size), (count, size))
SMALL(memory_resize, (void *block, size_t count, size_t size), (block, count, size))
SMALL(memory_bytes, (size_t size), (size))
SMALL(memory_copy, (const void *bytes, size_t size), (bytes, size))
SMALL(memory_copy_text, (const char *text), (text))

/* The end of the process, where a failure was made. */
void *__real_memory_must(void *block);
void *__wrap_memory_must(void *block);
void *__wrap_memory_must(void *block)
{
    if (block || memory_failures == 0 || product_depth == 0)
        return __real_memory_must(block);
    product_depth = small_depth = 0;
    memory_calls_left = -1;
    longjmp(memory_process_end, 1);
}

/* ---- the product */

#define PRODUCT(type, name, parameters, arguments)                                                 \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        product_depth++;                                                                           \
        type result = __real_##name arguments;                                                     \
        product_depth--;                                                                           \
        return result;                                                                             \
    }

PRODUCT(bool, api_serve_quick,
        (struct app * app, const struct api_request *request, struct api_reply *reply),
        (app, request, reply))
PRODUCT(bool, api_is_heavy, (const struct app *app, const struct api_request *request),
        (app, request))
PRODUCT(enum api_job_turn, api_job_turn,
        (struct app * app, struct db *db, const struct api_job_control *control, char note[256]),
        (app, db, control, note))

void __real_api_serve(struct app *app, struct db *db, const struct api_request *request,
                      struct api_reply *reply);
void __wrap_api_serve(struct app *app, struct db *db, const struct api_request *request,
                      struct api_reply *reply);
void __wrap_api_serve(struct app *app, struct db *db, const struct api_request *request,
                      struct api_reply *reply)
{
    product_depth++;
    __real_api_serve(app, db, request, reply);
    product_depth--;
}
