/* A map of jansson's from names to numbers (its hash is seeded at random, so that nobody can choose
 * names that collide), and a list from numbers to names. */
#include "api/data/expert_names.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

struct expert_names {
    json_t *numbers;
    char **names; /* names[number], each owned */
    uint32_t count, room;
};

struct expert_names *expert_names_new(void)
{
    struct expert_names *names = memory_new(1, sizeof *names);
    names->numbers = json_object();
    return names;
}

void expert_names_free(struct expert_names *names)
{
    if (!names)
        return;
    for (uint32_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    json_decref(names->numbers);
    free(names);
}

bool expert_names_number(struct expert_names *names, const char *name, uint32_t most,
                         uint32_t *out_number)
{
    const json_t *known = json_object_get(names->numbers, name);
    if (known) {
        *out_number = (uint32_t)json_integer_value(known);
        return true;
    }
    if (names->count >= most)
        return false;
    if (names->count == names->room) {
        names->room = 2 * names->room + 64;
        names->names = memory_resize(names->names, names->room, sizeof *names->names);
    }
    *out_number = names->count++;
    names->names[*out_number] = memory_copy_text(name);
    json_object_set_new_nocheck(names->numbers, name, json_integer(*out_number));
    return true;
}

uint32_t expert_names_count(const struct expert_names *names)
{
    return names->count;
}

const char *const *expert_names_all(const struct expert_names *names)
{
    return (const char *const *)names->names;
}

const char *expert_name_problem(const char *name, size_t size)
{
    if (size == 0 || size > EXPERT_NAME_MAX)
        return "must have 1 to 64 characters";
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || !strchr("._:@+-", c)))
            return "may have letters, digits and . _ : @ + - only";
    }
    return NULL;
}
