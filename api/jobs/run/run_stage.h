/* A job's training, in one stage or in two. */
#ifndef TACET_API_JOBS_RUN_RUN_STAGE_H
#define TACET_API_JOBS_RUN_RUN_STAGE_H

#include "api/jobs/run/job_run.h"

/* Trains in both stages (or in the only one). RUN and its TRAINING as algorithm.h has them. */
enum algorithm_status job_stage_train(struct job_run *run, const struct algorithm_run *training,
                                      struct policy **out_policy, const char **message);

#endif
