/* The declared states of a consensus job, as JSON and back:
 *
 *   "grid":{"low":[number of each coordinate],"high":[...],"points":[...]}
 *   "grid":{"states":[[number of each coordinate], ...]} */
#ifndef TACET_API_JOBS_ASK_JOB_STAGE_GRID_H
#define TACET_API_JOBS_ASK_JOB_STAGE_GRID_H

#include "algos/offline/stage_plan.h"
#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"
#include "storage/datasets.h"

/* Reads CONSENSUS (at "/privacy/consensus"), an object with a member "grid", into the grid and the
 * number of labels of OUT; gathers faults. A list of states is in the call's arena. */
void job_stage_grid_read(struct call *call, const json_t *consensus, struct stage_request *out);

/* What the grid needs of the dataset and the algorithm. PROBLEM_NONE, or a fault with its pointer.
 */
enum problem job_stage_grid_fit(struct call *call, const struct dataset_row *dataset,
                                const struct job_plan *plan);

/* New reference; null where there is no grid. */
json_t *job_stage_grid_json(const struct consensus_grid *grid);

/* Reads what job_stage_grid_json gave. False: it did not; OUT is for job_stage_grid_clear either
 * way. */
bool job_stage_grid_parse(const json_t *json, struct consensus_grid *out);

/* Frees a list of states. */
void job_stage_grid_clear(struct consensus_grid *grid);

#endif
