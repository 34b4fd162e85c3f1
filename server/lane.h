/* A bounded queue of exchanges between the socket thread and the threads of one lane. A place is
 * reserved before the connection is suspended, so that every suspended connection has a place.
 *
 * The queue is fair: callers take turns, one request each, and no caller has more than its share
 * of the places or of what is being served. Requests of one caller keep their order. */
#ifndef TACET_SERVER_LANE_H
#define TACET_SERVER_LANE_H

#include <pthread.h>
#include <stdbool.h>

#include "server/exchange.h"

#define LANE_BUCKETS 256

struct lane_share; /* what one caller has in the lane */

struct lane_limits {
    unsigned places;  /* requests reserved, queued or being served, of all callers */
    unsigned each;    /* of one caller, at least 1 */
    unsigned serving; /* of one caller taken and not released; 0: any number */
    unsigned light;   /* so many bytes of a body weigh as much as a request; 0: nothing */
};

struct lane {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct lane_limits limits;
    struct lane_share *bucket[LANE_BUCKETS]; /* of all callers that have a place */
    struct lane_share *first, *last;         /* whose requests may be taken, in turn */
    unsigned in_hand;                        /* reserved, queued or being served */
    bool stopping;
};

enum lane_answer {
    LANE_RESERVED,
    LANE_FULL,       /* there is no place */
    LANE_SHARE_FULL, /* this caller has all the places that one may have */
};

/* Limits of a lane of so many PLACES and THREADS. A single caller gets half of the places, rounded
 * up, and all threads but one, so that there is always room for another; and no more than USEFUL
 * threads, the processors where they compute: more make it no faster, but they crowd out who
 * answers. */
struct lane_limits lane_fair_limits(unsigned places, unsigned threads, unsigned useful);

/* An empty lane. */
void lane_init(struct lane *lane, struct lane_limits limits);

/* Frees what lane_init made; no place is taken. */
void lane_destroy(struct lane *lane);

/* Reserves a place for EXCHANGE, of exchange->client. After LANE_RESERVED exactly one lane_push
 * must follow. SPARE: another lane could serve the request as well. Such requests get at most half
 * of the places (none of a single one), so that a flood of them refuses no request of this lane. */
enum lane_answer lane_reserve(struct lane *lane, struct exchange *exchange, bool spare);

/* Puts EXCHANGE into its reserved place; from here on another thread may work on it. */
void lane_push(struct lane *lane, struct exchange *exchange);

/* Blocks until an exchange may be taken. Returns a list of at most MOST, which ends when their
 * weights reach MOST, and their number in *out_count: of every caller its oldest, then of every
 * caller its next, and so on. One that weighs MOST by itself comes alone, so that who waits for
 * another does not wait for it too. NULL when the lane is stopping and nothing may be taken. */
struct exchange *lane_take(struct lane *lane, unsigned most, unsigned *out_count);

/* Adds to LIST, which lane_take gave for MOST, what may be taken by now, as long as there is room.
 */
void lane_add(struct lane *lane, struct exchange *list, unsigned most);

/* Frees the places of LIST, which lane_take gave. */
void lane_release(struct lane *lane, struct exchange *list);

/* Stops the lane. Queued exchanges are still served; then lane_take returns NULL. */
void lane_stop(struct lane *lane);

#endif
