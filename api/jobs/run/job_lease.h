/* What a worker's hold on its job is to the parts of api_job_turn; what the parts of a run ask is
 * in job_run.h. */
#ifndef TACET_API_JOBS_RUN_JOB_LEASE_H
#define TACET_API_JOBS_RUN_JOB_LEASE_H

#include "api/jobs/run/job_run.h"

#define JOB_LEASE_MS 30000

/* A broken connection may have stored anything: nothing more is tried. */
bool job_lease_broken(struct job_run *run);

/* Stores a checkpoint. DB_OK: on disk, and the lease is ours. DB_FULL or DB_RETRY: it is not, and
 * might be later. DB_FAILED: a flag of RUN says why. */
enum db_status job_lease_store(struct job_run *run, uint64_t steps_done, const unsigned char *bytes,
                               size_t size);

#endif
