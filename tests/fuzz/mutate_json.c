/* Mutations of a tree. Bytes alone seldom keep a text JSON: most inputs would end in the parser. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define VALUES_MOST 4096 /* a larger tree is left to libFuzzer */

static uint32_t draw(unsigned *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

/* ---- values */

static json_t *draw_number(unsigned *state)
{
    static const double reals[] = {0.5,   1e-7, -0.0,    1e308, 5e-324, 1e-300, -1.5,
                                   1e300, 20,   1048576, 3e38,  4e38,   1e17,   0.1};
    static const json_int_t integers[] = {0,     1,         2,          3,         -1,
                                          64,    255,       256,        1000,      65535,
                                          65536, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN};
    uint32_t which = draw(state);
    if (which % 2 == 0)
        return json_real(reals[which / 2 % (sizeof reals / sizeof reals[0])]);
    return json_integer(integers[which / 2 % (sizeof integers / sizeof integers[0])]);
}

static json_t *draw_value(unsigned *state)
{
    switch (draw(state) % 10) {
    case 0: return json_null();
    case 1: return json_boolean(draw(state) % 2);
    case 2: return json_string("");
    case 3: return json_string("\xe2\x80\xa8\"/~");
    case 4: return json_array();
    case 5: return json_object();
    default: return draw_number(state);
    }
}

/* ---- places: every element and every member of the tree, counted in its order */

struct place {
    json_t *parent;   /* NULL: the tree itself */
    const char *name; /* of a member */
    size_t index;     /* of an element */
    json_t *value;
};

static void find_place(json_t *parent, uint32_t *left, struct place *out)
{
    size_t index;
    const char *name;
    json_t *value;
    if (json_is_array(parent)) {
        json_array_foreach(parent, index, value)
        {
            if ((*left)-- == 0)
                *out = (struct place){parent, NULL, index, value};
            if (out->value)
                return;
            find_place(value, left, out);
        }
    } else if (json_is_object(parent)) {
        json_object_foreach(parent, name, value)
        {
            if ((*left)-- == 0)
                *out = (struct place){parent, name, 0, value};
            if (out->value)
                return;
            find_place(value, left, out);
        }
    }
}

static uint32_t count_places(json_t *root)
{
    struct place none = {NULL, NULL, 0, NULL};
    uint32_t left = UINT32_MAX;
    find_place(root, &left, &none);
    return UINT32_MAX - left;
}

static struct place draw_place(json_t *root, uint32_t count, unsigned *state)
{
    struct place place = {NULL, NULL, 0, NULL};
    uint32_t at = draw(state) % count;
    find_place(root, &at, &place);
    return place;
}

/* Sets PLACE to VALUE, which is taken; what stood there goes. */
static void set_place(const struct place *place, json_t *value)
{
    if (place->name) {
        char *name = strdup(place->name); /* it goes with the old value */
        json_object_set_new(place->parent, name, value);
        free(name);
    } else {
        json_array_set_new(place->parent, place->index, value);
    }
}

static void remove_place(const struct place *place)
{
    if (place->name) {
        char *name = strdup(place->name);
        json_object_del(place->parent, name);
        free(name);
    } else {
        json_array_remove(place->parent, place->index);
    }
}

static json_t *nudge_value(json_t *value, unsigned *state)
{
    double small[] = {1, -1, 2, 0.5};
    if (json_is_integer(value))
        return json_integer(
            (json_int_t)((uint64_t)json_integer_value(value) + draw(state) % 5 - 2));
    if (json_is_real(value)) {
        double changed = json_real_value(value) * small[draw(state) % 4];
        return json_real(isfinite(changed) ? changed : 0);
    }
    if (json_is_array(value) && json_array_size(value) > 0) {
        json_array_remove(value, json_array_size(value) - 1);
        return json_incref(value);
    }
    return draw_value(state);
}

static void mutate_tree(json_t *root, unsigned *state)
{
    uint32_t count = count_places(root);
    if (count == 0 || count > VALUES_MOST)
        return;
    struct place here = draw_place(root, count, state), there = draw_place(root, count, state);
    switch (draw(state) % 6) {
    case 0: remove_place(&here); break;
    case 1: set_place(&here, draw_value(state)); break;
    case 2: set_place(&here, nudge_value(here.value, state)); break;
    case 3: set_place(&here, json_deep_copy(there.value)); break;
    case 4:
        if (!here.name)
            json_array_insert_new(here.parent, here.index, json_deep_copy(there.value));
        else if (there.name)
            json_object_set_new(here.parent, there.name, json_deep_copy(here.value));
        break;
    default:
        if (json_is_array(here.value))
            json_array_append_new(here.value, json_deep_copy(there.value));
        else
            set_place(&here, draw_number(state));
    }
}

size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t max_size, unsigned seed, size_t start)
{
    unsigned state = seed;
    json_t *root = NULL;
    json_error_t where;
    if (start < size && draw(&state) % 4 != 0)
        root = json_loadb((const char *)data + start, size - start,
                          JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &where);
    if (!root)
        return LLVMFuzzerMutate(data, size, max_size);
    for (uint32_t changes = 1 + draw(&state) % 3; changes > 0; changes--)
        mutate_tree(root, &state);
    size_t tail = start + (size_t)where.position, rest = size - tail;
    char *text = json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t used = text ? strlen(text) : 0;
    json_decref(root);
    if (used == 0 || start + used + rest > max_size) {
        free(text);
        return LLVMFuzzerMutate(data, size, max_size);
    }
    memmove(data + start + used, data + tail, rest);
    memcpy(data + start, text, used);
    free(text);
    return start + used + rest;
}
