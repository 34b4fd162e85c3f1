/* A queue for each caller, and a ring of the callers whose turn may come, under one lock. Exchanges
 * carry their own link.
 *
 * A caller has a share as long as it has a place. A share is in the ring while it has a request
 * that may be taken, so that taking one, and going on to the next caller, needs no search. */
#include "server/lane.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "memory/memory.h"

struct lane_share {
    uint64_t client;
    struct lane_share *next;          /* in its bucket */
    struct lane_share *turn;          /* the next in the ring */
    struct exchange *oldest, *newest; /* queued */
    unsigned in_hand;                 /* places: reserved, queued or being served */
    unsigned serving;
};

struct lane_limits lane_fair_limits(unsigned places, unsigned threads, unsigned useful)
{
    struct lane_limits limits = {.places = places, .each = (places + 1) / 2, .serving = 1};
    if (threads > 1)
        limits.serving = threads - 1 < useful ? threads - 1 : useful;
    return limits;
}

void lane_init(struct lane *lane, struct lane_limits limits)
{
    assert(limits.places > 0 && limits.each > 0);
    *lane = (struct lane){.limits = limits};
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->arrived, NULL);
}

void lane_destroy(struct lane *lane)
{
    assert(lane->in_hand == 0 && !lane->first);
    pthread_cond_destroy(&lane->arrived);
    pthread_mutex_destroy(&lane->lock);
}

/* ---- shares; the lock is held */

/* The place of CLIENT's share in its bucket's list; NULL is there when it has none. */
static struct lane_share **share_find(struct lane *lane, uint64_t client)
{
    struct lane_share **at = &lane->bucket[client % LANE_BUCKETS];
    while (*at && (*at)->client != client)
        at = &(*at)->next;
    return at;
}

static bool share_may_run(const struct lane *lane, const struct lane_share *share)
{
    return share->oldest && (lane->limits.serving == 0 || share->serving < lane->limits.serving);
}

static void ring_add(struct lane *lane, struct lane_share *share)
{
    share->turn = NULL;
    if (lane->last)
        lane->last->turn = share;
    else
        lane->first = share;
    lane->last = share;
    pthread_cond_signal(&lane->arrived);
}

static struct lane_share *ring_pop(struct lane *lane)
{
    struct lane_share *share = lane->first;
    lane->first = share->turn;
    if (!lane->first)
        lane->last = NULL;
    return share;
}

/* ---- places */

enum lane_answer lane_reserve(struct lane *lane, struct exchange *exchange, bool spare)
{
    unsigned limit = spare ? lane->limits.places / 2 : lane->limits.places;
    enum lane_answer answer = LANE_FULL;
    pthread_mutex_lock(&lane->lock);
    if (lane->in_hand >= limit || lane->stopping)
        goto cleanup;
    struct lane_share **at = share_find(lane, exchange->client);
    answer = LANE_SHARE_FULL;
    if (*at && (*at)->in_hand >= lane->limits.each)
        goto cleanup;
    if (!*at) {
        *at = memory_new(1, sizeof **at);
        (*at)->client = exchange->client;
    }
    exchange->share = *at;
    exchange->share->in_hand++;
    lane->in_hand++;
    answer = LANE_RESERVED;
cleanup:
    pthread_mutex_unlock(&lane->lock);
    return answer;
}

void lane_push(struct lane *lane, struct exchange *exchange)
{
    struct lane_share *share = exchange->share;
    exchange->next = NULL;
    pthread_mutex_lock(&lane->lock);
    bool waited = share_may_run(lane, share);
    if (share->newest)
        share->newest->next = exchange;
    else
        share->oldest = exchange;
    share->newest = exchange;
    if (!waited && share_may_run(lane, share))
        ring_add(lane, share);
    pthread_mutex_unlock(&lane->lock);
}

/* Takes the oldest request of the caller whose turn it is. */
static struct exchange *take_one(struct lane *lane)
{
    struct lane_share *share = ring_pop(lane);
    struct exchange *exchange = share->oldest;
    share->oldest = exchange->next;
    if (!share->oldest)
        share->newest = NULL;
    exchange->next = NULL;
    share->serving++;
    if (share_may_run(lane, share))
        ring_add(lane, share);
    return exchange;
}

static unsigned weight_of(const struct lane *lane, const struct exchange *exchange)
{
    if (lane->limits.light == 0)
        return 1;
    return 1 + (unsigned)(exchange->body.size / lane->limits.light);
}

/* Adds what may be taken at END, until the list, which has WEIGHT so far, weighs MOST. The lock is
 * held. */
static void take_more(struct lane *lane, struct exchange **end, unsigned weight, unsigned most)
{
    while (lane->first && weight < most) {
        unsigned next = weight_of(lane, lane->first->oldest);
        if (weight > 0 && next >= most)
            break;
        *end = take_one(lane);
        weight += next;
        end = &(*end)->next;
    }
}

/* A stopping lane may hold requests of a caller of whom enough is being served: the thread that
 * serves it releases it, and then takes the next. */
struct exchange *lane_take(struct lane *lane, unsigned most, unsigned *out_count)
{
    struct exchange *list = NULL;
    unsigned count = 0;
    assert(most > 0);
    pthread_mutex_lock(&lane->lock);
    while (!lane->first && !lane->stopping)
        pthread_cond_wait(&lane->arrived, &lane->lock);
    take_more(lane, &list, 0, most);
    pthread_mutex_unlock(&lane->lock);
    for (const struct exchange *exchange = list; exchange; exchange = exchange->next)
        count++;
    *out_count = count;
    return list;
}

void lane_add(struct lane *lane, struct exchange *list, unsigned most)
{
    struct exchange **end = &list;
    unsigned weight = 0;
    for (; *end; end = &(*end)->next)
        weight += weight_of(lane, *end);
    pthread_mutex_lock(&lane->lock);
    take_more(lane, end, weight, most);
    pthread_mutex_unlock(&lane->lock);
}

static void release_one(struct lane *lane, struct lane_share *share)
{
    bool could_run = share_may_run(lane, share);
    assert(share->serving > 0 && share->in_hand > 0 && lane->in_hand > 0);
    share->serving--;
    share->in_hand--;
    lane->in_hand--;
    if (!could_run && share_may_run(lane, share))
        ring_add(lane, share);
    if (share->in_hand > 0)
        return;
    struct lane_share **at = share_find(lane, share->client);
    *at = share->next;
    free(share);
}

void lane_release(struct lane *lane, struct exchange *list)
{
    pthread_mutex_lock(&lane->lock);
    for (; list; list = list->next)
        release_one(lane, list->share);
    pthread_mutex_unlock(&lane->lock);
}

void lane_stop(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->stopping = true;
    pthread_cond_broadcast(&lane->arrived);
    pthread_mutex_unlock(&lane->lock);
}
