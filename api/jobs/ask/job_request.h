/* Reads a request for a job, by the algorithm's own tables, and plans the job. */
#ifndef TACET_API_JOBS_ASK_JOB_REQUEST_H
#define TACET_API_JOBS_ASK_JOB_REQUEST_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"
#include "storage/datasets.h"

struct job_wish {
    struct job_plan plan;
    struct dataset_row dataset;
    bool feasible;        /* a plan was found */
    const char *why_not;  /* when it was not: a static sentence */
    double least_epsilon; /* then an epsilon with which there is one, from job_least_epsilon; 0:
                             unknown */
};

/* Reads the body of a POST /v1/jobs or :estimate and plans the job, which takes a while. The
 * dataset must be the caller's and have experts. An infeasible plan is not a problem here. */
enum problem job_wish_read(struct call *call, struct job_wish *out);

/* ---- what would be enough (job_least.c) */

/* The least epsilon (to about a hundredth) with which WISH, which is infeasible, could be planned
 * at the same delta; 0: not found within the work that planning may take, or an epsilon is not what
 * it lacks. Makes some plans. */
double job_least_epsilon(const struct job_wish *wish);

/* {"epsilon","delta"} of wish->least_epsilon, or null. New reference. */
json_t *job_least_json(const struct job_wish *wish);

/* ---- how long a job will take, before it is run (job_time.c) */

struct job_time {
    double seconds;      /* of one core; NAN: unknown */
    const char *unknown; /* then why: a static sentence; else NULL */
};

/* Estimates the seconds from the start of the job to its end, on one core of the machine of
 * docs/performance.md: data, first stage, steps, evaluation and judge. Reads the size of the
 * dataset, which its owner may see. DB_OK with *OUT set; otherwise the failure of the database. */
enum db_status job_time_estimate(struct call *call, const struct job_wish *wish,
                                 struct job_time *out);

#endif
