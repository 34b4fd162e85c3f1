/* A small hash table of owners who hold something, under one lock. */
#include "server/shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

struct share {
    uint64_t owner;
    struct share *next;
    uint64_t held[SHARE_THINGS];
};

void shares_init(struct shares *shares, const uint64_t most[SHARE_THINGS])
{
    memset(shares, 0, sizeof *shares);
    memcpy(shares->most, most, sizeof shares->most);
    pthread_mutex_init(&shares->lock, NULL);
}

void shares_clear(struct shares *shares)
{
    for (unsigned i = 0; i < SHARES_BUCKETS; i++) {
        while (shares->bucket[i]) {
            struct share *share = shares->bucket[i];
            shares->bucket[i] = share->next;
            free(share);
        }
    }
    pthread_mutex_destroy(&shares->lock);
}

/* The link that points to OWNER's share, or the one to append it to. The lock is held. */
static struct share **shares_find(struct shares *shares, uint64_t owner)
{
    struct share **at = &shares->bucket[(owner ^ owner >> 32) % SHARES_BUCKETS];
    while (*at && (*at)->owner != owner)
        at = &(*at)->next;
    return at;
}

bool shares_take(struct shares *shares, uint64_t owner, enum share_thing thing, uint64_t amount)
{
    if (owner == 0 || amount == 0)
        return true;
    pthread_mutex_lock(&shares->lock);
    struct share **at = shares_find(shares, owner);
    uint64_t held = *at ? (*at)->held[thing] : 0;
    bool fits = amount <= shares->most[thing] && held <= shares->most[thing] - amount;
    if (fits && !*at) {
        *at = memory_new(1, sizeof **at);
        (*at)->owner = owner;
    }
    if (fits)
        (*at)->held[thing] += amount;
    pthread_mutex_unlock(&shares->lock);
    return fits;
}

void shares_give(struct shares *shares, uint64_t owner, enum share_thing thing, uint64_t amount)
{
    if (owner == 0 || amount == 0)
        return;
    pthread_mutex_lock(&shares->lock);
    struct share **at = shares_find(shares, owner), *share = *at;
    assert(share && share->held[thing] >= amount);
    share->held[thing] -= amount;
    bool empty = true;
    for (unsigned i = 0; i < SHARE_THINGS; i++)
        empty = empty && share->held[i] == 0;
    if (empty) {
        *at = share->next;
        free(share);
    }
    pthread_mutex_unlock(&shares->lock);
}
