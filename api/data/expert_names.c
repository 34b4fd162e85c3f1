/* A hash table with open addressing whose slots hold numbers; the hash is keyed at random, so that
 * nobody can choose names that collide (crypto_shorthash, SipHash-2-4). */
#include "api/data/expert_names.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

struct expert_names {
    unsigned char key[crypto_shorthash_KEYBYTES];
    char **names; /* names[number], each owned */
    uint32_t count, room;
    uint32_t *slots; /* number + 1; 0: free */
    uint32_t mask;   /* of the slots; at most half of them are taken */
};

/* Doubles the room; the slots are empty then. */
static void names_grow(struct expert_names *names)
{
    names->room *= 2;
    names->names = memory_resize(names->names, names->room, sizeof *names->names);
    free(names->slots);
    names->slots = memory_new((size_t)names->room * 2, sizeof *names->slots);
    names->mask = 2 * names->room - 1;
}

static uint32_t slot_of(const struct expert_names *names, const char *name)
{
    uint64_t hash;
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)name, strlen(name), names->key);
    uint32_t slot = (uint32_t)hash & names->mask;
    while (names->slots[slot] != 0 && strcmp(names->names[names->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & names->mask;
    return slot;
}

struct expert_names *expert_names_new(void)
{
    struct expert_names *names = memory_new(1, sizeof *names);
    names->room = 32;
    names_grow(names);
    crypto_shorthash_keygen(names->key);
    return names;
}

void expert_names_free(struct expert_names *names)
{
    if (!names)
        return;
    for (uint32_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    free(names->slots);
    free(names);
}

bool expert_names_number(struct expert_names *names, const char *name, uint32_t most,
                         uint32_t *out_number)
{
    uint32_t slot = slot_of(names, name);
    if (names->slots[slot] != 0) {
        *out_number = names->slots[slot] - 1;
        return true;
    }
    if (names->count >= most)
        return false;
    if (names->count == names->room) {
        names_grow(names);
        for (uint32_t i = 0; i < names->count; i++)
            names->slots[slot_of(names, names->names[i])] = i + 1;
        slot = slot_of(names, name);
    }
    names->names[names->count] = memory_copy_text(name);
    *out_number = names->count++;
    names->slots[slot] = names->count;
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
