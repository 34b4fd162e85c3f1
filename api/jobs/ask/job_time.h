/* How long a job will take, before it is run. */
#ifndef TACET_API_JOBS_ASK_JOB_TIME_H
#define TACET_API_JOBS_ASK_JOB_TIME_H

#include "api/call/call.h"
#include "api/jobs/ask/job_request.h"

struct job_time {
    double seconds;      /* of one core; NAN: unknown */
    const char *unknown; /* then why: a static sentence; else NULL */
};

/* Seconds from taking the job out of the queue to its end on one core of a machine like that of
 * docs/performance.md: data, the first stage, every step, evaluation and judge. Reads how much the
 * dataset holds, which its owner sees anyway. DB_OK with *OUT set; else what the database said. */
enum db_status job_time_estimate(struct call *call, const struct job_wish *wish,
                                 struct job_time *out);

#endif
