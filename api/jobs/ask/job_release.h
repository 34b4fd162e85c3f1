/* Jobs that end in a released Q-function: what is asked for. */
#ifndef TACET_API_JOBS_ASK_JOB_RELEASE_H
#define TACET_API_JOBS_ASK_JOB_RELEASE_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"

/* Reads what is public of one in the settings "privacy" of a job: epsilon, delta, force, unit, and
 * what unit reward needs of a steward whose rewards are LOGGED in a dataset. */
void job_release_read(struct call *call, const json_t *privacy, bool logged,
                      struct algorithm_request *out);

/* Whether the noise is larger than the range of what is released, which is refused unless it was
 * asked for by "force". */
bool job_release_drowns(const struct job_plan *plan);

#endif
