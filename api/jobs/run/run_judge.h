/* Judging a released policy by a public dataset: what for is in api/jobs/ask/job_judge.h. */
#ifndef TACET_API_JOBS_RUN_RUN_JUDGE_H
#define TACET_API_JOBS_RUN_RUN_JUDGE_H

#include <jansson.h>

#include "api/jobs/run/job_run.h"

/* Judges POLICY, which is on disk, and notes the figures in RUN; where there are none (the dataset
 * is gone, or has too little) none are noted. False: to be stopped; a flag of RUN says why. */
bool job_judge(struct job_run *run, const struct policy *policy);

/* Adds what was noted to OBJECT. */
void job_judge_show(const struct job_run *run, json_t *object);

#endif
