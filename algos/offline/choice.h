/* Choosing a run's result by play. The candidates are the run's weights at evenly spaced moments,
 * including its end. Every candidate plays the same episodes in a public world. The candidate with
 * the best mean return wins; of equals, the later.
 *
 * Choosing is post-processing and costs no budget, however many candidates there are: the weights
 * of a private run are released values that the run's accounting covers, and their returns are
 * computed from those weights, a public simulator and public coins. */
#ifndef TACET_ALGOS_OFFLINE_CHOICE_H
#define TACET_ALGOS_OFFLINE_CHOICE_H

#include <stdint.h>

#include "algos/choice_terms.h"
#include "algos/policy.h"

/* The number of candidates that are due after STEPS_DONE of TOTAL_STEPS (at most 10^15). */
uint32_t choice_due(const struct choice *choice, uint64_t steps_done, uint64_t total_steps);

/* A candidate's score so far. */
struct choice_score {
    uint32_t episodes;
    double sum; /* of returns */
};

enum choice_verdict {
    CHOICE_PLAYED,
    CHOICE_NOT_FINITE, /* the candidate cannot be played, here or on another try */
    CHOICE_BROKEN,     /* no memory, or the world broke: neither says anything about the
                        * candidate */
};

/* Plays POLICY for a fraction of a second of the episodes that SCORE lacks, in PLACE's world, and
 * adds their returns to SCORE. The world's sizes must be POLICY's. */
enum choice_verdict choice_play(const struct choice *choice, const struct policy *policy,
                                const struct choice_place *place, struct choice_score *score);

#endif
