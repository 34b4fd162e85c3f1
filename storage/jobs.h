/* The queue is the database: jobs wait in it, workers claim them with a lease, checkpoints are kept in it. */
#ifndef TACET_STORAGE_JOBS_H
#define TACET_STORAGE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/clients.h"
#include "storage/db.h"
#include "storage/id.h"

struct job {
    char id[ID_SIZE];
    char owner[ID_SIZE];
    char algorithm[32];
    char mechanism[32];
    char dataset[ID_SIZE];     /* "" for none */
    char environment[32];      /* "" for none */
    char *request;             /* JSON text of the api's; malloc'ed, see job_clear */
    char *plan;                /* JSON text of the api's; malloc'ed */
    char state[12];            /* "queued", "running", "succeeded", "failed", "cancelled" */
    int64_t step, total_steps;
    bool holds;                /* a ledger hold of this job's id exists */
    bool cancel_requested;
    double epsilon_requested, delta_requested, epsilon_spent;
    char policy[ID_SIZE];      /* "" until succeeded */
    bool evaluated;
    double mean_return, std_return;
    int64_t episodes;
    char problem[32];          /* slug of the failure, "" for none */
    char problem_detail[200];
    int64_t created_ms, started_ms, finished_ms; /* 0: not yet */
    char lease_owner[64];
    int64_t lease_until_ms;
};
void job_clear(struct job *job); /* frees the texts */

/* Queues JOB (state and times are set here). In the caller's transaction, beside its hold. */
enum db_status jobs_submit(struct db *db, const struct job *job);
enum db_status jobs_find(struct db *db, const char *id, struct job *out);
/* NULL filters match all. Newest first: after (before in time) the job that (AFTER_MS, AFTER_ID) names; 0, "" starts.
 * Each of OUT is to be cleared. */
enum db_status jobs_list(struct db *db, const char *owner, const char *state, const char *algorithm, int64_t after_ms,
                         const char *after_id, unsigned limit, struct job *out, unsigned *out_count);
/* Jobs queued before this one. */
enum db_status jobs_queue_place(struct db *db, const struct job *job, int64_t *out_place);

/* Takes the oldest job that is queued, or running under a lease that ran out, for WORKER. DB_NONE: nothing to do. */
enum db_status jobs_claim(struct db *db, const char *worker, int64_t now_ms, int64_t lease_ms, struct job *out);

/* Renews the lease and records the step. DB_NONE: the lease is no longer WORKER's; it must write nothing more. */
enum db_status jobs_heartbeat(struct db *db, const char *job, const char *worker, int64_t step, int64_t now_ms,
                              int64_t lease_ms, bool *out_cancel_requested);
/* Heartbeat and checkpoint in one transaction, while the lease is WORKER's. */
enum db_status jobs_save_checkpoint(struct db *db, const char *job, const char *worker, int64_t step,
                                    const void *bytes, size_t size, int64_t now_ms, int64_t lease_ms);
/* The last checkpoint, malloc'ed. DB_NONE: none. */
enum db_status jobs_checkpoint(struct db *db, const char *job, unsigned char **out_bytes, size_t *out_size,
                               int64_t *out_step);
/* Ends the job (state, step, policy, evaluation, problem, epsilon_spent of JOB) while the lease is WORKER's; its checkpoint
 * goes. In the caller's transaction, beside policy and settlement. DB_NONE: the lease is lost. */
enum db_status jobs_finish(struct db *db, const struct job *job, const char *worker, int64_t now_ms);

enum job_cancel_verdict { JOB_CANCELLED, JOB_CANCEL_REQUESTED, JOB_ENDED_ALREADY };
/* A queued job that never started ends at once (the caller settles its hold with 0); one that started is asked to stop.
 * A job that was started and waits again after a shutdown counts as started. */
enum db_status jobs_cancel(struct db *db, const char *id, int64_t now_ms, enum job_cancel_verdict *out_verdict);

/* At a clean shutdown: WORKER's running jobs may be claimed at once. */
enum db_status jobs_release_leases(struct db *db, const char *worker);
/* At start, by a process that owns the database alone: every lease is over. */
enum db_status jobs_expire_leases(struct db *db);
/* True in *out_any when a job on that dataset is queued or running. */
enum db_status jobs_any_on_dataset(struct db *db, const char *dataset, bool *out_any);

#endif
