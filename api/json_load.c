/* jansson's functions for memory are the process's, so what they are told has to be, too: whose
 * allocator it is, and for each thread whether it parses.
 *
 * Jansson keeps the token that it reads in a buffer that doubles, and does not look whether that
 * found memory: a character is lost then, and where it takes one back (behind every number) it
 * asserts that it is the one it put there, which would end the server. So for each size that the
 * buffer may double to a thread has spare room, which nothing outlives the parsing in. Whatever
 * else asks for as much may have it, too, in which case nothing is lost either: hence more than one
 * of each. Any other size is refused once one allocation has failed, and that ends the parsing. */
#include "api/json_load.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SPARE_FIRST ((size_t)32) /* what the buffer doubles to at first */
#define SPARE_SIZES 7 /* up to 2,048: only a number longer than that may end the process */
#define SPARE_EACH  4

static void *(*allocate_with)(size_t size) = malloc;

static _Thread_local struct watch {
    bool parses, failed;
    unsigned given[SPARE_SIZES];
} watch;

static _Thread_local struct spare {
    _Alignas(16) unsigned char bytes[SPARE_EACH * (SPARE_FIRST << SPARE_SIZES)];
} spare;

/* NULL: for that size there is nothing, or no more. */
static void *take_spare(size_t size)
{
    size_t from = 0, each = SPARE_FIRST;
    for (unsigned i = 0; i < SPARE_SIZES; i++, each *= 2) {
        if (size == each && watch.given[i] < SPARE_EACH) {
            return spare.bytes + from + watch.given[i]++ * each;
        }
        from += SPARE_EACH * each;
    }
    return NULL;
}

static void *allocate(size_t size)
{
    void *bytes = watch.failed ? NULL : allocate_with(size);
    if (bytes == NULL && watch.parses) {
        watch.failed = true;
        bytes = take_spare(size);
    }
    return bytes;
}

static void release(void *bytes)
{
    uintptr_t at = (uintptr_t)bytes, from = (uintptr_t)spare.bytes;
    if (at < from || at >= from + sizeof spare.bytes) {
        free(bytes);
    }
}

void json_load_guard(void *(*with)(size_t size))
{
    allocate_with = with;
    json_set_alloc_funcs(allocate, release);
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
    if (*out_starved) {
        json_decref(json);
        json = NULL;
    }
    watch = (struct watch){0};
    return json;
}

json_t *json_load_stored(const char *text)
{
    bool starved;
    return json_load(text, strlen(text), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL, &starved);
}
