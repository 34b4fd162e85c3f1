/* One turn of a job worker. */
#ifndef TACET_API_JOBS_RUN_JOB_TURN_H
#define TACET_API_JOBS_RUN_JOB_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct app;
struct db;

/* What a worker gives to its turns. */
struct api_job_control {
    const char *worker; /* unique name of this worker thread, owner of leases */
    const char *others; /* of the process, which keep their jobs (jobs_claim); or NULL */
    bool (*stop_requested)(void *context); /* asked at every pulse: save and pause */
    void *context;
    /* Called for the log when JOB, which an earlier worker had, continues from STEP, the step of
     * its checkpoint (0: it has none yet). NULL: nobody is told. */
    void (*resumed)(void *context, const char *job, uint64_t step);
    /* Calls work(what, i) for every i below COUNT, on several threads when some are free, and
     * returns when all have ended. NULL: the worker is alone. */
    void (*parallel)(void *context, void (*work)(void *what, uint32_t i), void *what,
                     uint32_t count);
    /* Sleeps for MS. NULL: nothing waits. */
    void (*wait)(void *context, int64_t ms);
};
enum api_job_turn {
    API_JOB_NONE,   /* nothing to do */
    API_JOB_RAN,    /* one job came to an end of any kind */
    API_JOB_PAUSED, /* stopped, or short of memory; the job goes on from its checkpoint later */
    API_JOB_FAILED_STORAGE, /* the database failed; see db_broken */
};
/* Claims the oldest job that may run, runs it, stores its end. Logs nothing; OUT_NOTE receives a
 * line for the log (job id, algorithm, outcome; no data). */
enum api_job_turn api_job_turn(struct app *app, struct db *db,
                               const struct api_job_control *control, char out_note[256]);

#endif
