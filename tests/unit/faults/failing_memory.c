#include "tests/unit/faults/failing_memory.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/json/json_text.h"
#include "memory/memory.h"

static struct {
    unsigned calls, at;
    bool armed, stays;
    unsigned inside; /* the service is at work */
    unsigned small;  /* on an allocation that does not fail */
} plan;

void failing_memory_arm(unsigned n, bool stays)
{
    plan.calls = 0;
    plan.at = n;
    plan.stays = stays;
    plan.armed = true;
}

unsigned failing_memory_end(void)
{
    plan.armed = false;
    return plan.calls;
}

static bool fails_now(void)
{
    if (!plan.armed || plan.inside == 0 || plan.small > 0)
        return false;
    unsigned n = plan.calls++;
    if (n != plan.at && !(plan.stays && n > plan.at))
        return false;
    return true;
}

/* ---- what may fail */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails_now() ? NULL : __real_realloc(block, size);
}

/* ---- what may not */

#define SMALL(type, name, parameters, arguments)                                                   \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        plan.small++;                                                                              \
        type made = __real_##name arguments;                                                       \
        plan.small--;                                                                              \
        return made;                                                                               \
    }

SMALL(void *, memory_new, (size_t count, size_t size), (count, size))
SMALL(void *, memory_resize, (void *block, size_t count, size_t size), (block, count, size))
SMALL(void *, memory_bytes, (size_t size), (size))
SMALL(void *, memory_copy, (const void *bytes, size_t size), (bytes, size))
SMALL(char *, memory_copy_text, (const char *text), (text))
/* A JSON text is small, too: the document was. */
SMALL(char *, json_text_write, (const json_t *value, bool sorted, size_t *out_size),
      (value, sorted, out_size))

/* ---- when the service is at work */

void __real_api_serve(struct app *app, struct db *db, const struct api_request *request,
                      struct api_reply *out);
void __wrap_api_serve(struct app *app, struct db *db, const struct api_request *request,
                      struct api_reply *out);
bool __real_api_serve_quick(struct app *app, const struct api_request *request,
                            struct api_reply *out);
bool __wrap_api_serve_quick(struct app *app, const struct api_request *request,
                            struct api_reply *out);
enum api_job_turn __real_api_job_turn(struct app *app, struct db *db,
                                      const struct api_job_control *control, char note[256]);
enum api_job_turn __wrap_api_job_turn(struct app *app, struct db *db,
                                      const struct api_job_control *control, char note[256]);

void __wrap_api_serve(struct app *app, struct db *db, const struct api_request *request,
                      struct api_reply *out)
{
    plan.inside++;
    __real_api_serve(app, db, request, out);
    plan.inside--;
}

bool __wrap_api_serve_quick(struct app *app, const struct api_request *request,
                            struct api_reply *out)
{
    plan.inside++;
    bool served = __real_api_serve_quick(app, request, out);
    plan.inside--;
    return served;
}

enum api_job_turn __wrap_api_job_turn(struct app *app, struct db *db,
                                      const struct api_job_control *control, char note[256])
{
    plan.inside++;
    enum api_job_turn turn = __real_api_job_turn(app, db, control, note);
    plan.inside--;
    return turn;
}
