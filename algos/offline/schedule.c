/* Coins by counting: each coin is the first number of its own stream. */
#include "algos/offline/schedule.h"

#include <assert.h>

#include "envs/rng.h"

/* Far from the streams of initial weights and plain batches. */
#define COIN_STREAMS UINT64_C(0x636f696e00000000)

bool schedule_is_plain(const struct schedule *schedule, uint64_t step)
{
    assert(schedule->plain_share >= 0.0 && schedule->plain_share <= 1.0);
    if (schedule->plain_share <= 0.0)
        return false;
    struct rng coin;
    rng_seed(&coin, schedule->seed, COIN_STREAMS + step);
    return rng_uniform(&coin) < schedule->plain_share;
}

uint64_t schedule_noisy_steps(const struct schedule *schedule, uint64_t steps)
{
    if (schedule->plain_share <= 0.0)
        return steps;
    uint64_t noisy = 0;
    for (uint64_t step = 0; step < steps; step++)
        noisy += !schedule_is_plain(schedule, step);
    return noisy;
}

uint64_t schedule_most_steps(const struct schedule *schedule, uint64_t noisy, uint64_t limit)
{
    uint64_t step = 0;
    for (uint64_t used = 0; step < limit; step++) {
        used += !schedule_is_plain(schedule, step);
        if (used > noisy)
            break;
    }
    return step;
}
