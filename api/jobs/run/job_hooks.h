/* The hooks of a job's training. */
#ifndef TACET_API_JOBS_RUN_JOB_HOOKS_H
#define TACET_API_JOBS_RUN_JOB_HOOKS_H

#include <jansson.h>

#include "algos/algorithm.h"
#include "api/jobs/run/job_run.h"

/* Hooks whose context is RUN, as algorithm.h has them: a pulse beats the lease and hears of a stop,
 * a checkpoint is stored (sealed, where what it holds has no noise yet), and what is shown is kept
 * in RUN. They are valid as long as RUN. */
struct algorithm_hooks job_hooks_of(struct job_run *run);

/* What was shown, as a JSON object. New reference. */
json_t *job_findings_json(const struct job_run *run);

#endif
