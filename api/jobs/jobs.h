/* Training jobs: requested, priced and queued here; api/jobs/run runs them on a worker's thread. */
#ifndef TACET_API_JOBS_JOBS_H
#define TACET_API_JOBS_JOBS_H

#include <jansson.h>
#include <stdint.h>

#include "api/call/call.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"

struct job_plan;

/* Plans a POST /v1/jobs, where the caller's projects have room for one more job. */
enum problem api_jobs_prepare(struct call *call);

/* POST /v1/jobs. */
enum problem api_jobs_create(struct call *call);

/* Plans a POST /v1/jobs:estimate. */
enum problem api_jobs_estimate_prepare(struct call *call);

/* POST /v1/jobs:estimate. */
enum problem api_jobs_estimate(struct call *call);

/* Reads and plans a POST /v1/jobs:advise. */
enum problem api_jobs_advise_prepare(struct call *call);

/* POST /v1/jobs:advise. */
enum problem api_jobs_advise(struct call *call);

/* GET /v1/jobs. */
enum problem api_jobs_list(struct call *call);

/* GET /v1/jobs/{id}. */
enum problem api_jobs_get(struct call *call);

/* POST /v1/jobs/{id}:cancel. */
enum problem api_jobs_cancel(struct call *call);

/* GET /v1/jobs/{id}/events. */
enum problem api_jobs_events(struct call *call);

/* Adds to the estimate OUT what remains of ACCOUNT (all zero: none pays) once PLAN is
 * paid, "leaves", and a "warning" where the rest could buy nothing; null each where there is none.
 * (job_leaves.c) */
void job_leaves_show(const struct ledger_account *account, const struct job_plan *plan,
                     json_t *out);

/* Finds the job {id} if the caller owns it. *OUT is valid for the life of the call. */
enum problem job_of_call(struct call *call, struct job_row **out);

/* ---- a job as JSON (job_view.c): nothing in it depends on private data unless it was released */

/* Reads the names of dataset and policy. New
 * reference; NULL: the database failed. */
json_t *job_json(struct db *db, const struct job_row *job, const struct job_wait *wait,
                 int64_t now_ms);

/* Sets in PROGRESS, a member of a job's JSON, what the job waits for. */
void job_wait_show(json_t *progress, const struct job_wait *wait);

/* True when the job is over. */
bool job_is_over(const struct job_row *job);

/* ---- the catalogue of algorithms, with their mechanisms and parameters (algorithms.c) */

/* GET /v1/algorithms. */
enum problem api_algorithms_list(struct call *call);

#endif
