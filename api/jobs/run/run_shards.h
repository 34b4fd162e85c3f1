/* Training an ensemble, and keeping it (api/jobs/ask/job_shards.h). */
#ifndef TACET_API_JOBS_RUN_RUN_SHARDS_H
#define TACET_API_JOBS_RUN_RUN_SHARDS_H

#include "api/jobs/run/job_run.h"

/* Trains into run->ensemble. Checkpoints are sealed. */
enum algorithm_status job_shards_train(struct job_run *run, const struct algorithm_run *training,
                                       const char **message);

/* The bytes of run->ensemble, sealed for the policy POLICY. The caller frees *out. False: memory.
 */
bool job_shards_seal(const struct job_run *run, const char *policy, unsigned char **out,
                     size_t *out_size);

#endif
