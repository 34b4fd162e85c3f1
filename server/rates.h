/* How many requests a second each client, or each address, may make. Each has a bucket that holds
 * as many requests as it may make in a second and fills at that rate; a request takes one out.
 *
 * One thread's own. The table has a fixed size: where a place is wanted, the bucket that is full
 * again soonest makes room, and its owner then begins with a full one. */
#ifndef TACET_SERVER_RATES_H
#define TACET_SERVER_RATES_H

#include <stdbool.h>
#include <stdint.h>

#define RATES_SETS 1024
#define RATES_WAYS 4 /* places of a set */

struct rate {
    uint64_t owner;
    int64_t full_ns; /* when its bucket is full again */
};

struct rates {
    const char *name; /* of the policy, in headers */
    unsigned most;    /* requests a second; 0: any number */
    struct rate set[RATES_SETS][RATES_WAYS];
};

#define RATES_HEADER_BYTES 64

/* All buckets are full. NAME is static text. */
void rates_init(struct rates *rates, const char *name, unsigned most);

/* Takes a request out of OWNER's bucket at NOW_US of the monotonic clock. False: it holds none.
 * *out_left is what it holds then. Owner 0 is nobody, who may ask at any rate. */
bool rates_take(struct rates *rates, uint64_t owner, int64_t now_us, unsigned *out_left);

/* The value of the header RateLimit, as draft-ietf-httpapi-ratelimit-headers-10 writes it: LEFT
 * requests are left, and the bucket is full in a second at the latest. */
void rates_header(const struct rates *rates, unsigned left, char out[RATES_HEADER_BYTES]);

/* The value of the header RateLimit-Policy of the same draft. */
void rates_policy_header(const struct rates *rates, char out[RATES_HEADER_BYTES]);

#endif
