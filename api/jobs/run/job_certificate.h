/* What is guaranteed about a policy that a job trained and released, as the JSON that is signed.
 * Everything in it is public: no hash or count of private data. */
#ifndef TACET_API_JOBS_RUN_JOB_CERTIFICATE_H
#define TACET_API_JOBS_RUN_JOB_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/jobs/ask/job_plan.h"
#include "storage/jobs.h"

struct app;

/* The signed text of certificate ID for POLICY, which JOB trained by PLAN (MECHANISM_DPSGD). With
 * INJECTED_NOISE (see struct policy) its first warning says that it protects nobody. The caller
 * frees it. */
char *job_certificate(const struct app *app, const struct job_row *job, const struct job_plan *plan,
                      const char *id, const char *policy, bool injected_noise, int64_t now_ms);

#endif
