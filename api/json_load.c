/* jansson's functions for memory are the process's, so what they are told has to be, too: whose
 * allocator it is, and for each thread whether it parses. */
#include "api/json_load.h"

#include <stdlib.h>

static void *(*allocate_with)(size_t size) = malloc;
static _Thread_local struct watch {
    bool parses, failed;
} watch;

static void *allocate(size_t size)
{
    if (watch.failed) {
        return NULL;
    }
    void *bytes = allocate_with(size);
    watch.failed = watch.parses && bytes == NULL;
    return bytes;
}

void json_load_guard(void *(*with)(size_t size))
{
    allocate_with = with;
    json_set_alloc_funcs(allocate, free);
}

json_t *json_load(const char *bytes, size_t size, size_t flags, json_error_t *error,
                  bool *out_starved)
{
    json_error_t ignored = {0};
    json_error_t *said = error == NULL ? &ignored : error;
    watch = (struct watch){.parses = true};
    json_t *json = json_loadb(bytes, size, flags, said);
    /* Of a text that it refuses jansson always has something to say. */
    *out_starved = watch.failed || (json == NULL && said->text[0] == '\0');
    watch = (struct watch){0};
    if (*out_starved) {
        json_decref(json);
        return NULL;
    }
    return json;
}
