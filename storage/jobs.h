/* Jobs: the queue, who works on what, and checkpoints.
 *
 * A job goes queued -> running -> succeeded | failed | cancelled. A worker claims it with a lease
 * and renews that; whoever lost the lease changes nothing any more. A job whose lease has run out
 * may be claimed again and goes on from its checkpoint, under its hold. A job that was paused or
 * whose process died stays "running"; only a job that never started is "queued". */
#ifndef TACET_STORAGE_JOBS_H
#define TACET_STORAGE_JOBS_H

#include "storage/db/db.h"
#include "storage/db/id.h"

#define JOB_WORD_SIZE     40  /* algorithm, mechanism, slug, worker */
#define JOB_DETAIL_SIZE   320 /* bytes of an error's detail */
#define JOB_FINDINGS_SIZE 6144

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED };
#define JOB_STATES 5

/* "queued", "running", ... */
const char *job_state_name(enum job_state state);

/* Finds the state NAME of a job ("queued"). False: there is none. */
bool job_state_named(const char *name, enum job_state *out);

struct job_row {
    char id[ID_SIZE]; /* job_ */
    char owner[ID_SIZE];
    char algorithm[JOB_WORD_SIZE], mechanism[JOB_WORD_SIZE];
    char dataset[ID_SIZE]; /* "" for none */
    char environment[64];  /* "" for none */
    char *request;         /* the request's JSON. malloc'ed by jobs_find and jobs_claim */
    char *plan;            /* opaque text of the caller, "" for none. malloc'ed likewise */
    enum job_state state;
    int64_t step, total_steps; /* progress as of the last heartbeat */
    char account[ID_SIZE];     /* the account that holds the price; "" for none */
    int64_t hold_units, hold_delta;
    bool cancel_requested;
    char policy[ID_SIZE];    /* "" for none */
    char q_release[ID_SIZE]; /* likewise */
    bool has_evaluation;
    double mean_return, std_return;
    int64_t episodes;
    char problem_slug[JOB_WORD_SIZE];            /* "" unless failed */
    char problem_detail[JOB_DETAIL_SIZE];        /* of a cancelled job: why it pays what it pays */
    char findings[JOB_FINDINGS_SIZE];            /* of its caller's form; "" for none */
    double epsilon_spent;                        /* once it is over */
    int64_t created_ms, started_ms, finished_ms; /* 0: not yet */
    int64_t turn;                                /* its place in the queue, set by jobs_submit */
    bool has_shown_return; /* true for a public training: the mean return so far */
    double shown_return;
    bool fresh;       /* from jobs_claim: no worker had begun it */
    int64_t attempts; /* claims since a checkpoint got on or a worker let it go in order */
};

/* Frees request and plan; zeroed rows are allowed. */
void job_done(struct job_row *job);

/* Stores a new job as queued, in the caller's transaction with its hold. Taken from JOB: id, owner,
 * algorithm, mechanism, dataset, environment, request, plan, total_steps, account, hold_units,
 * hold_delta, created_ms. DB_NONE: the id exists. The owners' jobs take turns, one each. */
enum db_status jobs_submit(struct db *db, const struct job_row *job);

/* Finds a job; free with job_done. DB_NONE: unknown. */
enum db_status jobs_find(struct db *db, const char *id, struct job_row *out);

/* Finds the newest job that ACCOUNT pays for; free with job_done. DB_NONE: none. */
enum db_status jobs_find_newest(struct db *db, const char *account, struct job_row *out);

struct job_filter {
    const char *owner;               /* or several, separated by spaces; NULL: any */
    const char *algorithm, *dataset; /* NULL: any */
    const enum job_state *state;     /* NULL: any */
};
typedef bool job_fn(void *context, const struct job_row *job);

/* Shows a PAGE of the jobs, newest first. Request and plan are borrowed here. EACH may stop by
 * false. */
enum db_status jobs_list(struct db *db, const struct job_filter *filter,
                         const struct listing_page *page, job_fn *each, void *context);

/* Counts the jobs of OWNER (as in job_filter; NULL: of all) in each state. */
enum db_status jobs_count(struct db *db, const char *owner, int64_t out[JOB_STATES]);

/* Counts the jobs that run or are queued of all projects in which CLIENT may ask for jobs. */
enum db_status jobs_under_way(struct db *db, const char *client, int64_t *out);

/* Finds the certificate of what JOB has released. DB_NONE: there is none. */
enum db_status jobs_certificate(struct db *db, const char *job, char out[ID_SIZE]);

/* Adds up the epsilons and deltas of all jobs on ACCOUNT: what each has paid, or holds until it
 * ends. A job's whole delta is counted also where it paid less of it: few steps may cost delta and
 * no epsilon. */
enum db_status jobs_cost_on(struct db *db, const char *account, double *out_epsilon,
                            double *out_delta);

/* True when a queued or running job uses DATASET: learns from it, or has it as its plan's "judge".
 */
enum db_status jobs_use_dataset(struct db *db, const char *dataset, bool *out_used);

/* Finds a queued or running job whose request or plan names ID. DB_NONE: there is none. */
enum db_status jobs_find_using(struct db *db, const char *id, char out_job[ID_SIZE]);

/* What a queued job waits for; all 0 for a job that is not queued. */
struct job_wait {
    int64_t place; /* among all jobs; 1 is the next to be claimed. Later jobs of others may come
                      before it. */
    int64_t own;   /* jobs of its owner that run or are queued before it */
};

/* What job ID waits for. DB_NONE: unknown. */
enum db_status jobs_wait(struct db *db, const char *id, struct job_wait *out);

typedef void job_wait_fn(void *context, const char *id, const struct job_wait *wait);

/* Shows what each queued job waits for, in no order: for a list, where jobs_wait of every row would
 * go through the queue as often as the list has rows. */
enum db_status jobs_waits(struct db *db, job_wait_fn *each, void *context);

/* ---- workers */

/* Claims the oldest job that is running with a lease that ended by NOW and is of none of OTHERS,
 * workers of the same process that live, with spaces between; or else the queued one whose turn it
 * is. DB_NONE: there is none. DB_RETRY: it was damaged, and has failed at its whole price; ask
 * again. Free with job_done. */
enum db_status jobs_claim(struct db *db, const char *worker, const char *others, int64_t now_ms,
                          int64_t lease_ms, struct job_row *out);

enum { JOB_STOPPED = 2 }; /* in cancel_requested: cancelled, and nothing of it is released */

struct job_lease {
    bool ours;             /* false: the lease is lost or the job is over; write nothing */
    bool cancel_requested; /* stop, settle the hold, and finish as cancelled */
    bool stopped;          /* by jobs_stop_on, too: store nothing of what was learned */
};

/* DB_OK: job ID runs and WORKER has it. DB_NONE: not, or not any more. */
enum db_status jobs_have(struct db *db, const char *id, const char *worker);

/* Renews WORKER's lease and notes the progress. */
enum db_status jobs_heartbeat(struct db *db, const char *id, const char *worker, int64_t step,
                              int64_t now_ms, int64_t lease_ms, struct job_lease *out);

/* Stores the mean return of a public training while WORKER holds the lease. DB_NONE: WORKER has no
 * lease. */
enum db_status jobs_show_return(struct db *db, const char *id, const char *worker,
                                double mean_return);

/* Stores the findings so far (below JOB_FINDINGS_SIZE bytes) while WORKER holds the lease.
 * jobs_finish may replace them. */
enum db_status jobs_show_findings(struct db *db, const char *id, const char *worker,
                                  const char *findings);

struct job_checkpoint {
    const char *id, *worker;
    int64_t step;
    bool hides_step; /* the job's own row has step 0 */
    const void *bytes;
    size_t size;
    int64_t now_ms, lease_ms;
};

/* Stores a heartbeat and a checkpoint in one transaction, durable on DB_OK. Nothing is stored
 * unless WORKER holds the lease, and no checkpoint after jobs_stop_on: it comes of data that were
 * erased. The checkpoint replaces the one before. */
enum db_status jobs_save_checkpoint(struct db *db, const struct job_checkpoint *checkpoint,
                                    struct job_lease *out);

/* Reads the checkpoint of a job; malloc'ed. DB_NONE: there is none. */
enum db_status jobs_load_checkpoint(struct db *db, const char *id, int64_t *out_step,
                                    void **out_bytes, size_t *out_size);

/* How a job ended. */
struct job_end {
    const char *id, *worker;
    enum job_state state; /* JOB_SUCCEEDED, JOB_FAILED or JOB_CANCELLED */
    int64_t step;
    const char *policy;    /* NULL for none */
    const char *q_release; /* likewise */
    bool has_evaluation;
    double mean_return, std_return;
    int64_t episodes;
    const char *problem_slug, *problem_detail; /* NULL unless failed; the detail of a cancelled job
                                                  says why it pays what it pays */
    const char *findings;                      /* below JOB_FINDINGS_SIZE bytes; NULL for none */
    double epsilon_spent;
    int64_t now_ms;
};
/* Ends the job if the lease is still ours (*OUT_OURS; otherwise nothing changes) and removes its
 * checkpoint. A detail that is too long is cut. The caller adds the policy and settles the hold in
 * the same transaction. */
enum db_status jobs_finish(struct db *db, const struct job_end *end, bool *out_ours);

/* Ends all leases of WORKER at a clean stop, so that other workers can continue its jobs at
 * once. */
enum db_status jobs_release_leases(struct db *db, const char *worker);

/* Notes that WORKER left the job in order: the attempt does not count as failed, and the job is
 * tried again when the lease ends. */
enum db_status jobs_excuse(struct db *db, const char *id, const char *worker);

/* Ends every lease when a server starts that has the database for itself: all leases are then those
 * of its former process. DB_NONE: other processes work on it, and a lease that nobody renews ends
 * by itself. */
enum db_status jobs_expire_leases(struct db *db);

/* ---- cancelling */

enum job_cancel {
    JOB_CANCEL_DONE,      /* the job was queued and is cancelled: it provably did not run, so settle
                           * its hold at 0 in the same transaction */
    JOB_CANCEL_REQUESTED, /* the job is running; its worker will be told */
    JOB_CANCEL_TOO_LATE,  /* the job is over */
    JOB_CANCEL_UNKNOWN,
};

/* Cancels a queued job, or asks the worker of a running one to; *OUT says which. */
enum db_status jobs_cancel(struct db *db, const char *id, int64_t now_ms, enum job_cancel *out);

/* Stops the jobs that run on DATASET, because data of it were erased: each ends as a cancelled one,
 * and jobs_stopped says so from now on. */
enum db_status jobs_stop_on(struct db *db, const char *dataset);

/* Whether the job was stopped by jobs_stop_on: it must release nothing. */
enum db_status jobs_stopped(struct db *db, const char *id, bool *out);

#endif
