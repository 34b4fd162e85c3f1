/* How well a released policy plays in a simulator: post-processing, free of charge. */
#ifndef TACET_API_JOBS_RUN_JOB_EVALUATE_H
#define TACET_API_JOBS_RUN_JOB_EVALUATE_H

#include <stdbool.h>

#include "algos/policy.h"
#include "api/jobs/ask/job_plan.h"

/* What plays: one of the two. */
struct job_player {
    const struct policy *policy;
    const struct q_release *release;
};

/* Plays the episodes that PLAN asks for in WORLD, in blocks of about a second, each from its own
 * public seed. BETWEEN is asked before every block, with the episodes
 * that are done; false ends it. False: ended, or no evaluation could be had, and *out says why as
 * policy_evaluate has it. */
bool job_evaluate(const struct job_plan *plan, const struct env *world,
                  const struct job_player *player, bool (*between)(void *context, uint32_t done),
                  void *context, struct policy_evaluation *out);

#endif
