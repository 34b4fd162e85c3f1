/* What each kind of algorithm does at work; what it asks and leaves is api/jobs/ask/job_kind.h. */
#ifndef TACET_API_JOBS_RUN_RUN_KIND_H
#define TACET_API_JOBS_RUN_RUN_KIND_H

#include "api/jobs/run/job_run.h"

struct run_kind {
    /* What an earlier worker finished and kept: a policy, which the caller frees, or run->release.
     * NULL: no policy, or storage_failed says that it could not be looked for. */
    struct policy *(*kept)(struct job_run *run);
    /* Runs the job that was claimed and fills ENDING. False: to be stopped without an end; a flag
     * of RUN says why. */
    bool (*work)(struct job_run *run, struct job_ending *ending);
    /* Fills ENDING with what the training gave. POLICY (NULL where there is none) stays the
     * caller's. False: as above. */
    bool (*complete)(struct job_run *run, struct policy *policy, struct job_ending *ending);
    enum problem given_up; /* of a job that ended its workers again and again */
};

/* The row of ALGORITHM's kind. */
const struct run_kind *run_kind(const struct algorithm *algorithm);

/* Training: takes what was kept, or loads the data or opens the world, trains, and completes. */
bool job_train(struct job_run *run, struct job_ending *ending);

#endif
