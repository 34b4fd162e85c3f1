/* A bounded queue of exchanges between the socket thread and the threads of one lane. A place is
 * reserved before the connection is suspended, so that what was suspended always finds its place.
 */
#ifndef TACET_SERVER_LANE_H
#define TACET_SERVER_LANE_H

#include <pthread.h>
#include <stdbool.h>

#include "server/exchange.h"

struct lane {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct exchange *oldest, *newest;
    unsigned in_hand; /* reserved, queued or being served */
    unsigned limit;   /* of in_hand */
    unsigned crowd;   /* how many were in hand lately when some were released, in 64ths */
    bool stopping;
};

void lane_init(struct lane *lane, unsigned limit);
void lane_destroy(struct lane *lane); /* it is empty */

/* Takes a place; false when there is none. Then exactly one lane_push. */
bool lane_reserve(struct lane *lane);
/* The same for what can be done elsewhere, too: it may take half of the places, so that a flood of
 * it refuses nobody who can go nowhere else. Of a single place that is none. */
bool lane_reserve_spare(struct lane *lane);
/* Puts EXCHANGE into its reserved place; from here on another thread may work on it. */
void lane_push(struct lane *lane, struct exchange *exchange);
/* Blocks until there is something; gives at most MOST of the oldest as a list, their number in
 * *out_count. NULL when the lane is stopping and empty. Of more than 8 it gives at most
 * half of those who were in hand together lately: two such lots in turns, one on its way while the
 * other is served, get more done than a single one. */
struct exchange *lane_take(struct lane *lane, unsigned most, unsigned *out_count);
/* For a taker who has HELD and could serve more with them: what has come since, as far as lane_take
 * would have given it. Does not block; NULL: nothing. */
struct exchange *lane_take_more(struct lane *lane, unsigned held, unsigned most,
                                unsigned *out_count);
/* COUNT places are free again. */
void lane_release(struct lane *lane, unsigned count);
/* What is queued is still served; then lane_take gives NULL. */
void lane_stop(struct lane *lane);

#endif
