/* A bucket is one number, when it will be full: each request moves that on by the time in which one
 * is filled in (the generic cell rate algorithm, ITU-T I.371). */
#include "server/rates.h"

#include <stdio.h>
#include <string.h>

#define SECOND_NS ((int64_t)1000000000)

void rates_init(struct rates *rates, const char *name, unsigned most)
{
    memset(rates, 0, sizeof *rates);
    rates->name = name;
    rates->most = most;
}

/* OWNER's place, or the one that it takes over from the owner whose bucket is full soonest. */
static struct rate *rate_of(struct rates *rates, uint64_t owner)
{
    struct rate *set = rates->set[(owner ^ owner >> 32) % RATES_SETS], *spare = set;
    for (unsigned i = 0; i < RATES_WAYS; i++) {
        if (set[i].owner == owner)
            return &set[i];
        if (set[i].full_ns < spare->full_ns)
            spare = &set[i];
    }
    *spare = (struct rate){.owner = owner};
    return spare;
}

bool rates_take(struct rates *rates, uint64_t owner, int64_t now_us, unsigned *out_left)
{
    *out_left = rates->most;
    if (rates->most == 0 || owner == 0)
        return true;
    struct rate *rate = rate_of(rates, owner);
    int64_t each_ns = SECOND_NS / rates->most, now_ns = now_us * 1000;
    if (rate->full_ns < now_ns)
        rate->full_ns = now_ns;
    int64_t room_ns = SECOND_NS - (rate->full_ns - now_ns);
    *out_left = 0;
    if (room_ns < each_ns)
        return false;
    rate->full_ns += each_ns;
    *out_left = (unsigned)((room_ns - each_ns) / each_ns);
    return true;
}

void rates_header(const struct rates *rates, unsigned left, char out[RATES_HEADER_BYTES])
{
    snprintf(out, RATES_HEADER_BYTES, "\"%s\";r=%u;t=1", rates->name, left);
}

void rates_policy_header(const struct rates *rates, char out[RATES_HEADER_BYTES])
{
    snprintf(out, RATES_HEADER_BYTES, "\"%s\";q=%u;w=1", rates->name, rates->most);
}
