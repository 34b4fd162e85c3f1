/* Which steps of a private run are noisy: Algorithm 3 of Sharma et al. 2025, with its coins thrown
 * before the data are touched.
 *
 * A noisy step takes a Poisson batch of experts and pays for it; a plain one takes stable
 * trajectories, which are released already, and is free. Every coin is a function of the public
 * seed and of the step's number alone, so the number of noisy steps is known when the run is
 * planned, that very number is accounted, and a run that was interrupted needs nothing to go on.
 * The coins are seen in the iterates, so they amplify nothing. */
#ifndef TACET_ALGOS_OFFLINE_SCHEDULE_H
#define TACET_ALGOS_OFFLINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule {
    uint64_t seed;      /* the seed of the request */
    double plain_share; /* 0 .. 1: probability that a step is plain */
};

/* True when step STEP (counted from 0) is plain. */
bool schedule_is_plain(const struct schedule *schedule, uint64_t step);

/* The number of noisy steps among the first STEPS steps. */
uint64_t schedule_noisy_steps(const struct schedule *schedule, uint64_t steps);

/* The largest number of steps, up to LIMIT, of which at most NOISY are noisy. */
uint64_t schedule_most_steps(const struct schedule *schedule, uint64_t noisy, uint64_t limit);

#endif
