/* What consensus labels cost (consensus.h): the plan that the accountant and the sampler share. */
#ifndef TACET_ALGOS_OFFLINE_CONSENSUS_PLAN_H
#define TACET_ALGOS_OFFLINE_CONSENSUS_PLAN_H

#include <stdint.h>

#include "algos/stage_terms.h"

#define CONSENSUS_UNIT       (UINT32_C(1) << 16) /* lattice units that are a probability of 1 */
#define CONSENSUS_MAX_LABELS 1000000u

enum consensus_status {
    CONSENSUS_OK,
    CONSENSUS_BAD,          /* labels 1 .. CONSENSUS_MAX_LABELS, actions 2 .. ENV_MAX_ACTIONS,
                               epsilon in (0, 1000], delta in (0, 1/2] */
    CONSENSUS_OUT_OF_REACH, /* the noise would be above 2^16/|A| experts */
};

/* The least noise at which LABELS labels are (epsilon, delta)-private. *out is touched on success
 * only. */
enum consensus_status consensus_plan_make(uint32_t labels, uint32_t action_count, double epsilon,
                                          double delta, struct consensus_plan *out);

#endif
