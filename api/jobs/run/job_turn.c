/* One turn of a worker: claim a job, run it, store its end.
 *
 * DESIGN. The worker owns the job by a lease that every heartbeat renews; once the lease is lost it
 * writes nothing more, and the next owner of the lease resumes from the last checkpoint. When the
 * database or the disk fails, the job keeps its hold and its checkpoint until its lease runs out,
 * because the failure may pass. */
#include "api/jobs/run/job_turn.h"

#include <stdio.h>
#include <stdlib.h>

#include "algos/release/ensemble.h"
#include "algos/release/q_release.h"
#include "api/call/app.h"
#include "api/jobs/run/job_run.h"
#include "storage/uploads.h"

/* Claims in a row that gave no further checkpoint and did not end in order: the job itself then
 * ends its workers and is given up. A training that waits for disk or memory does not count,
 * because giving it up would cost its whole price. An evaluation that waits counts, and so does
 * work on made-up data, which costs nothing. */
#define ATTEMPTS_MAX 5

/* ---- the end */

void job_ending_fail(struct job_ending *ending, enum problem problem, const char *detail)
{
    ending->state = JOB_FAILED;
    ending->problem = problem;
    ending->detail = detail;
}

/* Chooses the ending of a run, which is OVER or was stopped. False: no ending is to be stored now.
 */
static bool has_end(const struct job_run *run, bool over, struct job_ending *ending)
{
    if (run->lost || run->storage_failed || run->waiting)
        return false;
    if (run->cancelled) {
        ending->state = JOB_CANCELLED;
        return true;
    }
    return over;
}

/* Overwrites data of deleted datasets, when no job may run. */
static enum api_job_turn purge_deleted(struct db *db, const struct api_job_control *control)
{
    bool more = true;
    while (more && !(control->stop_requested && control->stop_requested(control->context))) {
        more = false;
        enum db_status status = uploads_purge(db, &more);
        if (status == DB_FAILED)
            return API_JOB_FAILED_STORAGE;
        more = more && status == DB_OK;
    }
    return API_JOB_NONE;
}

static enum api_job_turn pause_job(struct job_run *run, char note[256])
{
    if (run->storage_failed) {
        snprintf(note, 256, "%s: the database failed", run->job.id);
        return API_JOB_FAILED_STORAGE;
    }
    if (run->lost) {
        snprintf(note, 256, "%s: another worker has it", run->job.id);
        return API_JOB_PAUSED;
    }
    if (run->waiting) { /* the lease stays, so that it is not tried again at once */
        if (!run->finished && run_kind(&run->plan)->waits)
            (void)jobs_excuse(run->db, run->job.id, run->control->worker);
        snprintf(note, 256, "%s: memory or disk ran short, to be tried again", run->job.id);
        return API_JOB_PAUSED;
    }
    enum db_status status = jobs_release_leases(run->db, run->control->worker);
    snprintf(note, 256, "%s: paused at step %llu", run->job.id, (unsigned long long)run->step);
    if (db_optional(status) != DB_OK)
        return API_JOB_FAILED_STORAGE;
    return API_JOB_PAUSED;
}

static enum api_job_turn end_job(struct job_run *run, const struct job_ending *ending,
                                 char note[256])
{
    struct job_ending kept = *ending;
    kept.evaluated = kept.evaluated && kept.state == JOB_SUCCEEDED;
    enum db_status status = job_run_finish(run, &kept);
    if (status == DB_NONE && run->lost) {
        /* One that was stopped is still ours: the next turn ends it. */
        (void)jobs_release_leases(run->db, run->control->worker);
        snprintf(note, 256, "%s: another worker has it", run->job.id);
        return API_JOB_PAUSED;
    }
    if (status != DB_OK && run->waiting && kept.state == JOB_SUCCEEDED)
        return pause_job(run, note);
    if (status != DB_OK) {
        snprintf(note, 256, "%s: its end could not be stored", run->job.id);
        return API_JOB_FAILED_STORAGE;
    }
    int used =
        snprintf(note, 256, "%s: %s %s %s after %llu steps", run->job.id, run->job.algorithm,
                 run->job.mechanism, job_state_name(kept.state), (unsigned long long)run->step);
    if (kept.state == JOB_FAILED && used > 0 && used < 256)
        snprintf(note + used, 256 - (size_t)used, ", %s", problem_info(kept.problem)->slug);
    return API_JOB_RAN;
}

/* Ends a job that ended its workers. It may have run any of its steps, so it pays the whole price.
 * False: it cannot be ended now. */
static bool give_up(struct job_run *run, struct job_ending *ending)
{
    enum problem problem = PROBLEM_TRAINING_FAILED;
    struct policy *policy = NULL;
    run->resumed = true;
    if (job_plan_read(run->job.plan, &run->plan)) {
        const struct run_kind *kind = run_kind(&run->plan);
        policy = kind->kept(run);
        problem = kind->given_up;
    }
    if (policy || run->release) {
        job_complete_unevaluated(
            run, policy,
            "the service stopped, ran short of memory or was too busy, again and again", ending);
        return true;
    }
    job_ending_fail(
        ending, problem,
        "The service stopped during this job, ran short of memory, or was too busy to keep it, "
        "again and again before the "
        "job got on. If it was not stopped from outside, the job may need more memory than there "
        "is.");
    return !run->storage_failed && !run->waiting;
}

/* Ends a job that another version planned, with other parameters. */
static void refuse_plan(struct job_run *run, struct job_ending *ending)
{
    const char *what = "The job's plan is not one of this version";
    if (!run->plan.unfit) {
        snprintf(run->detail, sizeof run->detail, "%s.", what);
    } else {
        snprintf(run->detail, sizeof run->detail,
                 "%s: its parameter %s is missing, or has a value that is no longer allowed. "
                 "Submit the job again.",
                 what, run->plan.unfit);
    }
    job_ending_fail(ending, PROBLEM_DATA_UNREADABLE, run->detail);
}

/* Works on the claimed job; false when no ending is to be stored now. */
static bool turn_to_end(struct job_run *run, struct job_ending *ending)
{
    bool cancelled = run->job.cancel_requested;
    if (run->job.attempts > ATTEMPTS_MAX && !cancelled)
        return give_up(run, ending);
    if (!job_plan_read(run->job.plan, &run->plan)) {
        if (!cancelled)
            refuse_plan(run, ending);
        return true;
    }
    const struct run_kind *kind = run_kind(&run->plan);
    if (cancelled) { /* while nobody had it */
        bool stopped = false;
        run->storage_failed = jobs_stopped(run->db, run->job.id, &stopped) != DB_OK;
        if (!run->storage_failed && !stopped)
            ending->policy = kind->kept(run);
        return !run->storage_failed && !run->waiting;
    }
    snprintf(run->environment, sizeof run->environment, "%s", run->job.environment);
    return has_end(run, kind->work(run, ending), ending);
}

enum api_job_turn api_job_turn(struct app *app, struct db *db,
                               const struct api_job_control *control, char out_note[256])
{
    struct job_run run = {.app = app, .db = db, .control = control};
    int64_t now = app->settings.now_ms(), clock = now;
    out_note[0] = '\0';
    enum db_status status = db_clock(db, &clock);
    if (status == DB_OK)
        status = jobs_claim(db, control->worker, control->others ? control->others : "", clock,
                            JOB_LEASE_MS, &run.job);
    if (status == DB_NONE || status == DB_RETRY)
        return purge_deleted(db, control);
    if (status != DB_OK)
        return API_JOB_FAILED_STORAGE;
    run.step = (uint64_t)run.job.step;
    run.resumed = !run.job.fresh;
    run.beat_ms = now;
    struct job_ending ending = {.state = JOB_CANCELLED};
    bool over = turn_to_end(&run, &ending) && job_tick_wait(&run, &ending);
    enum api_job_turn turn;
    if (over)
        turn = end_job(&run, &ending, out_note);
    else
        turn = pause_job(&run, out_note);
    policy_free(ending.policy);
    job_plan_clear(&run.plan);
    free(run.ranges);
    q_release_free(run.release);
    ensemble_free(run.ensemble);
    job_done(&run.job);
    return turn;
}
