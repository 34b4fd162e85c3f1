/* jansson's functions for memory are the process's, so what they are told has to be, too: whose
 * allocator it is, and for each thread whether it parses.
 *
 * DESIGN. Jansson keeps the token that it reads in a buffer that doubles, and does not look whether
 * that found memory: a character is lost then. Where it takes one back (behind every number) it
 * asserts that it is the one it put there, which would end the server; and where a text's closing
 * quote is lost, it looks for one beyond the buffer. So once an allocation has failed, nothing is
 * granted but room for the buffer, which is told by its size: twice that of the buffer at hand.
 * That room is kept ready for the longest token that a character is taken back behind. What else
 * asks for that size gets it, too: an array or object that is open and grows, once each, so there
 * is as much room more as the text is deep. Whatever else is refused ends the parsing, and so does
 * the buffer itself where it grows for a longer text: of that one no copy is made then. */
#include "api/json/json_load.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_look.h"

#define BUFFER_FIRST 16 /* what jansson's buffer begins with */
/* Buffers to which there is room for what else asks: below, no open array or object grows to that
 * size, and few other things are of it. */
#define BUFFER_SMALL 64
#define ROOM_SMALL   512
#define DEPTH_MAX    2048 /* jansson reads no deeper */
#define OTHERS       4    /* that may ask, beside those that are open: what was being made */

static void *(*allocate_with)(size_t size) = malloc;
static pthread_once_t wired = PTHREAD_ONCE_INIT; /* by whoever comes first */

static _Thread_local struct watch {
    bool parses, failed, over;
    const void *buffer; /* of the token; the first that a parser asks for */
    size_t buffer_size;
    const void *last; /* that was granted: it is the buffer once the buffer is given back */
    size_t last_size;
    unsigned char *room; /* for the buffer when memory is short; it is used from its beginning */
    size_t room_size, room_used;
    size_t buffer_most; /* to which the buffer may have to grow */
} watch;

static _Thread_local struct small_room {
    _Alignas(16) unsigned char bytes[ROOM_SMALL];
} small_room;

/* NULL: it is not the buffer that asks, or not for a token that has to be whole. */
static void *take_room(size_t size)
{
    bool grants = !watch.over && size == 2 * watch.buffer_size && size <= watch.buffer_most &&
                  size <= watch.room_size - watch.room_used;
    if (!grants) {
        watch.over = true;
        return NULL;
    }
    unsigned char *bytes = watch.room + watch.room_used;
    watch.room_used += size;
    return bytes;
}

static void *allocate(size_t size)
{
    void *bytes = watch.failed ? NULL : allocate_with(size);
    if (!watch.parses)
        return bytes;
    if (!bytes) {
        watch.failed = true;
        bytes = take_room(size);
    }
    if (watch.buffer_size == 0) {
        watch.buffer = bytes;
        watch.buffer_size = size;
    }
    watch.last = bytes;
    watch.last_size = size;
    return bytes;
}

static void release(void *bytes)
{
    if (watch.parses && bytes && bytes == watch.buffer) {
        watch.buffer = watch.last;
        watch.buffer_size = watch.last_size;
    }
    uintptr_t at = (uintptr_t)bytes, from = (uintptr_t)watch.room;
    if (!watch.parses || at < from || at >= from + watch.room_size)
        free(bytes);
}

static void wire(void)
{
    json_set_alloc_funcs(allocate, release);
}

void json_load_guard(void *(*with)(size_t size))
{
    (void)pthread_once(&wired, wire);
    allocate_with = with;
    wire();
}

/* Room for the text's tokens; false: there is none. */
static bool begin(const struct json_look *look)
{
    size_t most = BUFFER_FIRST;
    while (most < look->longest + 2) /* the character behind, and a NUL */
        most *= 2;
    watch = (struct watch){.parses = true,
                           .buffer_most = most,
                           .room = small_room.bytes,
                           .room_size = sizeof small_room.bytes};
    if (most > BUFFER_SMALL) {
        size_t open = look->depth < DEPTH_MAX ? look->depth : DEPTH_MAX;
        watch.room_size = (2 + open + OTHERS) * most;
        watch.room = malloc(watch.room_size);
    }
    return watch.room != NULL;
}

static void end(void)
{
    if (watch.room != small_room.bytes)
        free(watch.room);
    watch = (struct watch){0};
}

/* As jansson says where it stopped, and why. */
static void refuse(const char *bytes, const struct json_look *look, json_error_t *error)
{
    *error = (json_error_t){.line = 1, .position = (int)look->odd_at};
    for (size_t i = 0; i < look->odd_at; i++) {
        error->column += ((unsigned char)bytes[i] & 0xC0) != 0x80;
        if (bytes[i] == '\n') {
            error->line++;
            error->column = 0;
        }
    }
    snprintf(error->text, sizeof error->text, "%s", JSON_LOAD_TOO_LONG);
    error->text[sizeof error->text - 1] =
        (char)(look->odd_number ? json_error_numeric_overflow : json_error_invalid_syntax);
}

json_t *json_load(const char *bytes, size_t size, size_t flags, json_error_t *error,
                  bool *out_starved)
{
    json_error_t ignored = {0};
    json_error_t *said = !error ? &ignored : error;
    const struct json_look look = json_look(bytes, size);
    (void)pthread_once(&wired, wire);
    *out_starved = false;
    if (look.odd_at < size) {
        refuse(bytes, &look, said);
        return NULL;
    }
    json_t *json = NULL;
    if (begin(&look)) {
        json = json_loadb(bytes, size, flags, said);
        /* Of a text that it refuses jansson always has something to say. */
        *out_starved = watch.failed || (json == NULL && said->text[0] == '\0');
    } else {
        *out_starved = true;
    }
    if (*out_starved) {
        json_decref(json);
        json = NULL;
    }
    end();
    return json;
}

json_t *json_load_stored(const char *text)
{
    bool starved;
    return json_load(text, strlen(text), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL, &starved);
}
