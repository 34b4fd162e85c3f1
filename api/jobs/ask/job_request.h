/* Reading what a caller wants a job to be, by the algorithm's own tables, and planning it. */
#ifndef TACET_API_JOBS_ASK_JOB_REQUEST_H
#define TACET_API_JOBS_ASK_JOB_REQUEST_H

#include "api/call/call.h"
#include "api/jobs/ask/job_plan.h"
#include "storage/datasets.h"

struct job_wish {
    struct job_plan plan;
    struct dataset_row dataset;
    bool feasible;       /* a plan was found */
    const char *why_not; /* when it was not: a static sentence */
};

/* Reads the body of a POST /v1/jobs or :estimate and plans the job, which takes a while. The
 * dataset is the caller's and has experts. Not being feasible is not a problem here. */
enum problem job_wish_read(struct call *call, struct job_wish *out);

#endif
