/* A run's result chosen by play: candidates are the weights at evenly spaced moments of a run, its
 * end among them. Each plays the same episodes in a public world; the best return
 * wins, the later of equals.
 *
 * Weights of a private run are released values, of which the run's accounting covers all, and
 * returns in a public simulator are computed from them and public coins: choosing is
 * post-processing and costs no budget, however many candidates there are. */
#ifndef TACET_ALGOS_OFFLINE_CHOICE_H
#define TACET_ALGOS_OFFLINE_CHOICE_H

#include <stdint.h>

#include "algos/choice_terms.h"
#include "algos/policy.h"

/* How many of the candidates are due after STEPS_DONE of TOTAL_STEPS (at most 10^15). */
uint32_t choice_due(const struct choice *choice, uint64_t steps_done, uint64_t total_steps);

/* How a candidate did so far. */
struct choice_score {
    uint32_t episodes;
    double sum; /* of returns */
};

enum choice_verdict {
    CHOICE_PLAYED,
    CHOICE_NOT_FINITE, /* it cannot be played, here or again */
    CHOICE_BROKEN,     /* no memory, or the world broke: which says nothing of the candidate */
};

/* Plays POLICY for some of the episodes that SCORE lacks (a fraction of a second of them) in the
 * world of PLACE, whose sizes are the policy's, and adds them. */
enum choice_verdict choice_play(const struct choice *choice, const struct policy *policy,
                                const struct choice_place *place, struct choice_score *score);

#endif
