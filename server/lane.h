/* A bounded queue of exchanges between the socket thread and the threads of one lane. A place is
 * reserved before the connection is suspended, so that every suspended connection has a place. */
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
    bool stopping;
};

/* An empty lane of LIMIT places. */
void lane_init(struct lane *lane, unsigned limit);

/* Frees what lane_init made; the lane is empty. */
void lane_destroy(struct lane *lane);

/* Reserves a place; false when there is none. Exactly one lane_push must follow. SPARE: another
 * lane could serve the request as well. Such requests get at most half of the places (none of a
 * single one), so that a flood of them refuses no request of this lane. */
bool lane_reserve(struct lane *lane, bool spare);

/* Puts EXCHANGE into its reserved place; from here on another thread may work on it. */
void lane_push(struct lane *lane, struct exchange *exchange);

/* Blocks until an exchange is queued. Returns a list of at most MOST of the oldest and their number
 * in *out_count. NULL when the lane is stopping and empty. */
struct exchange *lane_take(struct lane *lane, unsigned most, unsigned *out_count);

/* Frees COUNT places. */
void lane_release(struct lane *lane, unsigned count);

/* Stops the lane. Queued exchanges are still served; then lane_take returns NULL. */
void lane_stop(struct lane *lane);

#endif
