/* A sweep at work: every try is trained, then judged by play, and the best one is the result. */
#ifndef TACET_API_JOBS_RUN_RUN_SWEEP_H
#define TACET_API_JOBS_RUN_RUN_SWEEP_H

#include "api/jobs/run/job_run.h"

/* Trains and judges every try; gives the best policy, rounded, and notes in RUN how it scored. RUN
 * and TRAINING as job_stage_train has them; the checkpoints hold what all tries gave so far, so
 * that no try is trained twice once it is done. */
enum algorithm_status job_sweep_train(struct job_run *run, const struct algorithm_run *training,
                                      struct policy **out_policy, const char **message);

/* {"best","mean_returns"} of a sweep that has ended. New reference. */
json_t *job_sweep_findings(const struct job_run *run);

#endif
