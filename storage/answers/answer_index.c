/* Two generations: one that grows, a table hashed by the hash's own bits, and one that is being
 * filed, an array in order of which the front is in the database already. */
#include "storage/answers/answer_index.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "storage/answers/answer_filter.h"

#define FIRST_ROOM 1024 /* a power of two */

struct answer_index {
    pthread_mutex_t lock;
    int64_t reached;
    enum answer_index_old old;
    size_t count, room; /* of the table: at most half of ROOM is taken */
    struct answer_place *table;
    struct answer_place *sorted; /* being filed; NULL: none */
    size_t sorted_count, done;
    int64_t sorted_reached;
    struct answer_filter filter;
};

struct answer_index *answer_index_new(void)
{
    struct answer_index *index = calloc(1, sizeof *index);
    if (index && pthread_mutex_init(&index->lock, NULL) != 0) {
        free(index);
        return NULL;
    }
    if (index)
        index->reached = -1;
    return index;
}

void answer_index_free(void *pointer)
{
    struct answer_index *index = pointer;
    if (!index)
        return;
    pthread_mutex_destroy(&index->lock);
    free(index->table);
    free(index->sorted);
    answer_filter_clear(&index->filter);
    free(index);
}

int64_t answer_index_reached(struct answer_index *index)
{
    pthread_mutex_lock(&index->lock);
    int64_t reached = index->reached;
    pthread_mutex_unlock(&index->lock);
    return reached;
}

void answer_index_reach(struct answer_index *index, int64_t block)
{
    pthread_mutex_lock(&index->lock);
    index->reached = block > index->reached ? block : index->reached;
    pthread_mutex_unlock(&index->lock);
}

enum answer_index_old answer_index_old(struct answer_index *index)
{
    pthread_mutex_lock(&index->lock);
    enum answer_index_old old = index->old;
    pthread_mutex_unlock(&index->lock);
    return old;
}

void answer_index_say_old(struct answer_index *index, enum answer_index_old old)
{
    pthread_mutex_lock(&index->lock);
    index->old = old;
    pthread_mutex_unlock(&index->lock);
}

/* ---- the table: block 0 does not exist and marks what is free */

static size_t home(const struct answer_index *index, int64_t hash)
{
    return (size_t)hash & (index->room - 1);
}

/* False: it is there already. */
static bool put(struct answer_index *index, struct answer_place place)
{
    size_t at = home(index, place.hash);
    for (; index->table[at].block != 0; at = (at + 1) & (index->room - 1))
        if (index->table[at].hash == place.hash && index->table[at].block == place.block)
            return false;
    index->table[at] = place;
    return true;
}

static bool grow(struct answer_index *index)
{
    struct answer_place *old = index->table;
    size_t count = index->room, room = count == 0 ? FIRST_ROOM : 2 * count;
    struct answer_place *table = calloc(room, sizeof *table);
    if (!table)
        return false;
    index->table = table;
    index->room = room;
    for (size_t i = 0; i < count; i++)
        if (old[i].block != 0)
            put(index, old[i]);
    free(old);
    return true;
}

bool answer_index_add(struct answer_index *index, struct answer_place place)
{
    assert(place.block > 0);
    pthread_mutex_lock(&index->lock);
    bool room = 2 * (index->count + 1) <= index->room || grow(index);
    if (room)
        index->count += put(index, place);
    pthread_mutex_unlock(&index->lock);
    return room;
}

/* ---- finding */

static int in_order(const void *a, const void *b)
{
    const struct answer_place *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

/* The first of SORTED whose hash is not below HASH. */
static size_t first_of(const struct answer_index *index, int64_t hash)
{
    size_t low = 0, high = index->sorted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->sorted[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t answer_index_find(struct answer_index *index, int64_t hash, int64_t *out, size_t most)
{
    size_t count = 0;
    pthread_mutex_lock(&index->lock);
    for (size_t at = index->room == 0 ? 0 : home(index, hash);
         index->room > 0 && index->table[at].block != 0; at = (at + 1) & (index->room - 1))
        if (index->table[at].hash == hash && count++ < most)
            out[count - 1] = index->table[at].block;
    for (size_t i = first_of(index, hash); i < index->sorted_count && index->sorted[i].hash == hash;
         i++)
        if (count++ < most)
            out[count - 1] = index->sorted[i].block;
    pthread_mutex_unlock(&index->lock);
    return count;
}

/* ---- filing */

/* The table becomes the generation that is filed. Nothing happens when memory is short: later. */
static void turn(struct answer_index *index)
{
    struct answer_place *sorted = malloc(index->count * sizeof *sorted);
    struct answer_place *table = calloc(index->room, sizeof *table);
    if (!sorted || !table) {
        free(sorted);
        free(table);
        return;
    }
    size_t count = 0;
    for (size_t i = 0; i < index->room; i++)
        if (index->table[i].block != 0)
            sorted[count++] = index->table[i];
    qsort(sorted, count, sizeof *sorted, in_order);
    free(index->table);
    index->table = table;
    index->count = 0;
    index->sorted = sorted;
    index->sorted_count = count;
    index->sorted_reached = index->reached;
    index->done = 0;
}

size_t answer_index_next(struct answer_index *index, struct answer_place *out, size_t most,
                         int64_t *out_filed)
{
    pthread_mutex_lock(&index->lock);
    if (!index->sorted && index->count >= ANSWER_INDEX_FILED)
        turn(index);
    size_t left = index->sorted_count - index->done;
    size_t count = left < most ? left : most;
    if (index->sorted && count > 0)
        memcpy(out, index->sorted + index->done, count * sizeof *out);
    *out_filed = count > 0 && count == left ? index->sorted_reached : 0;
    pthread_mutex_unlock(&index->lock);
    return count;
}

void answer_index_filed(struct answer_index *index, size_t count)
{
    pthread_mutex_lock(&index->lock);
    assert(count <= index->sorted_count - index->done);
    for (size_t i = 0; i < count; i++)
        answer_filter_add(&index->filter, index->sorted[index->done + i].hash);
    index->done += count;
    if (index->done == index->sorted_count) {
        free(index->sorted);
        index->sorted = NULL;
        index->sorted_count = index->done = 0;
    }
    pthread_mutex_unlock(&index->lock);
}

/* ---- what is filed */

bool answer_index_may_be_filed(struct answer_index *index, int64_t hash)
{
    pthread_mutex_lock(&index->lock);
    bool may = answer_filter_may_hold(&index->filter, hash);
    pthread_mutex_unlock(&index->lock);
    return may;
}

bool answer_index_wants(struct answer_index *index, int64_t *out_from)
{
    pthread_mutex_lock(&index->lock);
    bool wants = index->reached >= 0 && answer_filter_wants(&index->filter, out_from);
    pthread_mutex_unlock(&index->lock);
    return wants;
}

void answer_index_show(struct answer_index *index, const int64_t *hashes, size_t count, bool end)
{
    pthread_mutex_lock(&index->lock);
    answer_filter_show(&index->filter, hashes, count, end);
    pthread_mutex_unlock(&index->lock);
}

void answer_index_placed(struct answer_index *index, int64_t hash)
{
    pthread_mutex_lock(&index->lock);
    answer_filter_add(&index->filter, hash);
    pthread_mutex_unlock(&index->lock);
}
