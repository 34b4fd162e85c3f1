/* Jobs that train an ensemble: one policy for each shard of the dataset's experts, which stays in
 * the service and answers as a teacher of adjacency "expert" alone (algos/release/ensemble.h). Such
 * a job costs nothing: nothing that depends on the data leaves by it. Every answer is paid for. */
#ifndef TACET_API_JOBS_ASK_JOB_SHARDS_H
#define TACET_API_JOBS_ASK_JOB_SHARDS_H

#include <jansson.h>

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"

/* Takes SHARDS of a request, and gathers the faults of members that have no meaning beside it.
 * BODY is the request. */
void job_shards_read(struct call *call, const json_t *body, int64_t shards, struct job_plan *out);

/* Makes a plan for one policy that of all; an ensemble that could not be asked is refused. */
enum problem job_shards_fit(struct call *call, struct job_plan *plan);

/* What teachers of the ensemble can do with (EPSILON, DELTA): {"shards","change","teaching":[both
 * mechanisms for 100, 1000 and 10000 answers]}, as answer_estimate.h has it; teaching is empty
 * where that is no budget. New reference. */
json_t *job_shards_estimate(const struct job_plan *plan, double epsilon, double delta);

/* The sentence about such a job's result. */
extern const char job_shards_note[];

#endif
