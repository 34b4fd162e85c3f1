/* Jobs in two stages ("selective_dpsgd", "consensus"): what a caller asks of the first one, and
 * what it is planned to be. The JSON of the plan is public, and what is stored:
 *
 *   "stable":{"source":"rollouts","count","max_length","min_action_probability","accounting",
 *             "threshold" (in experts),"unanimous_length",...}
 *   "consensus":{"labels","noise" (in experts),"max_length","explore","skill",...} */
#ifndef TACET_API_JOBS_ASK_JOB_STAGE_H
#define TACET_API_JOBS_ASK_JOB_STAGE_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"
#include "storage/datasets.h"

/* Reads the members of PRIVACY (at "/privacy") that the request's mechanism has, epsilon and delta
 * among them, and gathers faults. */
void job_stage_read(struct call *call, const json_t *privacy, struct algorithm_request *out);

/* What the first stage needs of the dataset, and takes from it. PROBLEM_NONE, or a fault with its
 * pointer. */
enum problem job_stage_fit(struct call *call, const struct dataset_row *dataset,
                           struct job_plan *plan);

/* The plan of the first stage as above; an object without either where there is none. New
 * reference. */
json_t *job_stage_json(const struct job_plan *plan);

/* Reads what job_stage_json gave, the price included. The request's mechanism is known. */
bool job_stage_parse(const json_t *json, struct job_plan *out);

#define JOB_NETWORKS_MAX_BYTES ((size_t)1 << 30)

/* Whether COUNT networks of so many stored BYTES fit into a job's memory: asked before a job is
 * taken on, for one that ends for it has to pay. */
bool job_networks_fit(int64_t count, int64_t bytes);

#endif
