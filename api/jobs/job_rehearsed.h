/* Finished rehearsals beside what the advisor ranks. */
#ifndef TACET_API_JOBS_JOB_REHEARSED_H
#define TACET_API_JOBS_JOB_REHEARSED_H

#include <jansson.h>

#include "algos/advice/advice.h"
#include "api/call/call.h"

/* Looks among the caller's newest jobs for rehearsals that succeeded. Sets OUT[i] to the newest one
 * of the job that RANKED[i] would be: {"job","quality","sentence"}, which belongs to the call;
 * NULL: there is none. That is one of the same algorithm, mechanism, settings, budget, discount and
 * sizes, and so of the same noise; how its numbers are scaled may differ. PROBLEM_NONE, or the
 * database failed. */
enum problem job_rehearsed_find(struct call *call, const struct advice_ranked *ranked,
                                unsigned count, json_t *out[ADVICE_RANKED_MAX]);

#endif
