/* A linked queue under one lock; exchanges carry their own link. */
#include "server/lane.h"

#include <assert.h>
#include <stddef.h>

void lane_init(struct lane *lane, unsigned limit)
{
    *lane = (struct lane){.limit = limit};
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->arrived, NULL);
}

void lane_destroy(struct lane *lane)
{
    assert(!lane->oldest);
    pthread_cond_destroy(&lane->arrived);
    pthread_mutex_destroy(&lane->lock);
}

bool lane_reserve(struct lane *lane, bool spare)
{
    unsigned limit = spare ? lane->limit / 2 : lane->limit;
    pthread_mutex_lock(&lane->lock);
    bool room = lane->in_hand < limit && !lane->stopping;
    if (room)
        lane->in_hand++;
    pthread_mutex_unlock(&lane->lock);
    return room;
}

void lane_push(struct lane *lane, struct exchange *exchange)
{
    exchange->next = NULL;
    pthread_mutex_lock(&lane->lock);
    if (!lane->newest)
        lane->oldest = exchange;
    else
        lane->newest->next = exchange;
    lane->newest = exchange;
    pthread_cond_signal(&lane->arrived);
    pthread_mutex_unlock(&lane->lock);
}

/* Takes at most MOST of the oldest out of the queue; NULL: it is empty. The lock is held. */
static struct exchange *unlink_oldest(struct lane *lane, unsigned most, unsigned *out_count)
{
    unsigned count = 0;
    struct exchange *first = lane->oldest, *last = NULL;
    for (struct exchange *x = first; x && count < most; x = x->next) {
        last = x;
        count++;
    }
    *out_count = count;
    if (!last)
        return NULL;
    lane->oldest = last->next;
    last->next = NULL;
    if (!lane->oldest)
        lane->newest = NULL;
    return first;
}

struct exchange *lane_take(struct lane *lane, unsigned most, unsigned *out_count)
{
    assert(most > 0);
    pthread_mutex_lock(&lane->lock);
    while (!lane->oldest && !lane->stopping)
        pthread_cond_wait(&lane->arrived, &lane->lock);
    struct exchange *list = unlink_oldest(lane, most, out_count);
    pthread_mutex_unlock(&lane->lock);
    return list;
}

void lane_release(struct lane *lane, unsigned count)
{
    pthread_mutex_lock(&lane->lock);
    assert(lane->in_hand >= count);
    lane->in_hand -= count;
    pthread_mutex_unlock(&lane->lock);
}

void lane_stop(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->stopping = true;
    pthread_cond_broadcast(&lane->arrived);
    pthread_mutex_unlock(&lane->lock);
}
