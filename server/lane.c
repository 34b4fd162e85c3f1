/* A linked queue under one lock; exchanges carry their own link. */
#include "server/lane.h"

#include <assert.h>
#include <stddef.h>

/* Below this many a batch is as large as it can be. */
#define SHARE_MIN 8

void lane_init(struct lane *lane, unsigned limit)
{
    *lane = (struct lane){.limit = limit};
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->arrived, NULL);
}

void lane_destroy(struct lane *lane)
{
    assert(lane->oldest == NULL);
    pthread_cond_destroy(&lane->arrived);
    pthread_mutex_destroy(&lane->lock);
}

static bool reserve_below(struct lane *lane, unsigned limit)
{
    pthread_mutex_lock(&lane->lock);
    bool room = lane->in_hand < limit && !lane->stopping;
    if (room)
        lane->in_hand++;
    pthread_mutex_unlock(&lane->lock);
    return room;
}

bool lane_reserve(struct lane *lane)
{
    return reserve_below(lane, lane->limit);
}

bool lane_reserve_spare(struct lane *lane)
{
    return reserve_below(lane, lane->limit / 2);
}

void lane_push(struct lane *lane, struct exchange *exchange)
{
    exchange->next = NULL;
    pthread_mutex_lock(&lane->lock);
    if (lane->newest == NULL)
        lane->oldest = exchange;
    else
        lane->newest->next = exchange;
    lane->newest = exchange;
    pthread_cond_signal(&lane->arrived);
    pthread_mutex_unlock(&lane->lock);
}

struct exchange *lane_take(struct lane *lane, unsigned most, unsigned *out_count)
{
    assert(most > 0);
    unsigned count = 0;
    pthread_mutex_lock(&lane->lock);
    while (lane->oldest == NULL && !lane->stopping)
        pthread_cond_wait(&lane->arrived, &lane->lock);
    struct exchange *first = lane->oldest, *last = NULL;
    unsigned share = 3 * lane->in_hand / 4 > SHARE_MIN ? 3 * lane->in_hand / 4 : SHARE_MIN;
    most = most < share ? most : share;
    for (struct exchange *x = first; x != NULL && count < most; x = x->next) {
        last = x;
        count++;
    }
    if (last != NULL) {
        lane->oldest = last->next;
        last->next = NULL;
        if (lane->oldest == NULL)
            lane->newest = NULL;
    }
    pthread_mutex_unlock(&lane->lock);
    *out_count = count;
    return first;
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
