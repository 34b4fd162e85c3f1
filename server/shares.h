/* What each client, or each address, holds of the things that are limited: nobody holds more than a
 * share, so that nobody takes everything. Any thread. */
#ifndef TACET_SERVER_SHARES_H
#define TACET_SERVER_SHARES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum share_thing {
    SHARE_CONNECTIONS,
    SHARE_BYTES, /* of bodies in memory */
    SHARE_STREAMS,
    SHARE_THINGS,
};

#define SHARES_BUCKETS 256

struct shares {
    pthread_mutex_t lock;
    uint64_t most[SHARE_THINGS]; /* that one owner may hold */
    struct share *bucket[SHARES_BUCKETS];
};

/* Nobody holds anything. MOST: what one owner may hold of each thing. */
void shares_init(struct shares *shares, const uint64_t most[SHARE_THINGS]);

/* Frees what shares_init made. */
void shares_clear(struct shares *shares);

/* Gives AMOUNT more of THING to OWNER. False, and nothing is given: it would hold more than its
 * share. Owner 0 is nobody, who may hold anything. */
bool shares_take(struct shares *shares, uint64_t owner, enum share_thing thing, uint64_t amount);

/* Takes AMOUNT back. */
void shares_give(struct shares *shares, uint64_t owner, enum share_thing thing, uint64_t amount);

#endif
