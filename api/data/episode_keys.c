/* A table of slots, half of them empty at least, searched from the hash on. */
#include "api/data/episode_keys.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

#define FIRST_ROOM 1024

struct episode_keys episode_keys_new(void)
{
    struct episode_keys keys = {.room = FIRST_ROOM};
    randombytes_buf(keys.key, sizeof keys.key);
    keys.slots = memory_new(keys.room, sizeof *keys.slots);
    return keys;
}

void episode_keys_free(struct episode_keys *keys)
{
    free(keys->slots);
}

/* The hash of both texts, which is not 0. */
static uint64_t keys_hash(const struct episode_keys *keys, const char *expert, const char *episode)
{
    unsigned char bytes[2][crypto_shorthash_BYTES];
    uint64_t hash;
    _Static_assert(crypto_shorthash_KEYBYTES == sizeof keys->key, "SipHash takes 16 bytes");
    crypto_shorthash(bytes[0], (const unsigned char *)expert, strlen(expert), keys->key);
    crypto_shorthash(bytes[1], (const unsigned char *)episode, strlen(episode), keys->key);
    crypto_shorthash(bytes[0], bytes[0], sizeof bytes, keys->key);
    memcpy(&hash, bytes[0], sizeof hash);
    return hash > 0 ? hash : 1;
}

/* The slot of HASH: its own, or the empty one where it goes. */
static uint64_t *find_slot(const struct episode_keys *keys, uint64_t hash)
{
    size_t at = hash & (keys->room - 1);
    while (keys->slots[at] != 0 && keys->slots[at] != hash)
        at = (at + 1) & (keys->room - 1);
    return &keys->slots[at];
}

/* Doubles the room. False: there is no memory. */
static bool grow_keys(struct episode_keys *keys)
{
    struct episode_keys larger = *keys;
    larger.room = 2 * keys->room;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < keys->room; i++)
        if (keys->slots[i] != 0)
            *find_slot(&larger, keys->slots[i]) = keys->slots[i];
    free(keys->slots);
    *keys = larger;
    return true;
}

enum episode_keys_status episode_keys_add(struct episode_keys *keys, const char *expert,
                                          const char *episode)
{
    uint64_t hash = keys_hash(keys, expert, episode);
    if (*find_slot(keys, hash) == hash)
        return EPISODE_KNOWN;
    if (keys->count == EPISODE_KEYS_MAX || (2 * (keys->count + 1) > keys->room && !grow_keys(keys)))
        return EPISODE_TOO_MANY;
    *find_slot(keys, hash) = hash;
    keys->count++;
    return EPISODE_NEW;
}
