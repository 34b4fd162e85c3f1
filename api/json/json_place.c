/* Walks over brackets, commas and names up to a place. jansson reports the byte at which it
 * stopped; a caller needs the member. */
#include "api/json/json_place.h"

#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json_text.h"
#include "api/json/text.h"

#define NAME_MAX_BYTES 64

/* An array or object that the place is in. */
struct level {
    bool object;
    size_t index;     /* of an array: the element */
    const char *name; /* of an object: the member's name with its quotes; NULL: none as yet */
    size_t name_size;
};

/* The byte behind the string that begins at AT, or END. */
static const char *past_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

/* Appends /NAME; false when it is too long or no text. */
static bool append_name(const struct level *level, char *out, size_t *used)
{
    json_t *name = json_loadb(level->name, level->name_size, JSON_DECODE_ANY, NULL);
    const char *text = json_string_value(name);
    bool fits = text && json_string_length(name) <= NAME_MAX_BYTES &&
                *used + 2 * NAME_MAX_BYTES + 2 <= JSON_PLACE_SIZE;
    if (fits) {
        out[(*used)++] = '/';
        for (const char *c = text; *c != '\0'; c++)
            *used += text_pointer_put(out + *used, *c);
        out[*used] = '\0';
    }
    json_decref(name);
    return fits;
}

static void write_pointer(const struct level *levels, unsigned depth, char *out)
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < depth; i++) {
        if (levels[i].object) {
            if (!levels[i].name || !append_name(&levels[i], out, &used))
                return;
            continue;
        }
        if (used + 24 > JSON_PLACE_SIZE)
            return;
        used += (size_t)snprintf(out + used, JSON_PLACE_SIZE - used, "/%zu", levels[i].index);
    }
}

void json_place(const char *bytes, size_t position, char out[JSON_PLACE_SIZE])
{
    struct level levels[JSON_DEPTH_MAX];
    unsigned depth = 0;
    const char *end = bytes + position;
    for (const char *at = bytes; at < end; at++) {
        struct level *top = depth > 0 ? &levels[depth - 1] : NULL;
        if (*at == '"') {
            const char *past = past_string(at, end);
            if (top && top->object && !top->name) {
                top->name = at;
                top->name_size = (size_t)(past - at);
            }
            at = past - 1;
        } else if (*at == '{' || *at == '[') {
            assert(depth < JSON_DEPTH_MAX);
            levels[depth++] = (struct level){.object = *at == '{'};
        } else if ((*at == '}' || *at == ']') && depth > 0) {
            depth--;
        } else if (*at == ',' && top) {
            top->index++;
            top->name = NULL;
        }
    }
    write_pointer(levels, depth, out);
}
