/* Judging a released policy from logged data where nothing can be played:
 *
 *   "judge":{"dataset":"ds_..."}   a sealed dataset of the caller's that is public
 *
 * gives fitted Q evaluation's estimate (algos/offline/fitted_q.h) among the job's findings. What is
 * judged may leave, and what judges it is public: nobody's private data take part. */
#ifndef TACET_API_JOBS_ASK_JOB_JUDGE_H
#define TACET_API_JOBS_ASK_JOB_JUDGE_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"

/* Reads the object at "/judge" into *OUT, the dataset's id, and gathers faults. */
void job_judge_read(struct call *call, const json_t *object, const char **out);

/* Checks the dataset of that id for PLAN, whose sizes are known, and sets PLAN's judge.
 * PROBLEM_NONE, or a fault with its pointer. */
enum problem job_judge_fit(struct call *call, const char *id, struct job_plan *plan);

#endif
