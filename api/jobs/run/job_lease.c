/* A worker's lease of its job: heartbeats, checkpoints, and stopping once the lease is lost. When a
 * lease ends is told by the database's clock where it is shared; how often it is renewed, by the
 * worker's. */
#include "api/jobs/run/job_run.h"

#include <stdlib.h>

#include "api/call/app.h"
#include "api/jobs/ask/job_kind.h"

#define BEAT_EVERY_MS 1000
#define SLOW_LEASE_MS 900000 /* between two beats a column may be sorted or copied */

bool job_lease_broken(struct job_run *run)
{
    run->storage_failed = run->storage_failed || db_broken(run->db);
    return run->storage_failed;
}

int64_t job_lease_shown(const struct job_run *run, uint64_t step)
{
    if (job_plan_is_unprotected(&run->plan))
        return 0;
    return (int64_t)step;
}

static int64_t at_least(const struct job_run *run, int64_t lease_ms)
{
    return run->slow_data && lease_ms < SLOW_LEASE_MS ? SLOW_LEASE_MS : lease_ms;
}

bool job_run_beat(struct job_run *run, bool force, int64_t lease_ms)
{
    int64_t now = run->app->settings.now_ms(), clock = now;
    if (job_lease_broken(run))
        return false;
    /* A heartbeat is also due when the clock was set back. */
    if (!force && run->beat_ms != 0 && now >= run->beat_ms && now - run->beat_ms < BEAT_EVERY_MS)
        return true;
    struct job_lease lease = {0};
    enum db_status status = db_clock(run->db, &clock);
    if (status == DB_OK)
        status =
            jobs_heartbeat(run->db, run->job.id, run->control->worker,
                           job_lease_shown(run, run->step), clock, at_least(run, lease_ms), &lease);
    if (job_lease_broken(run))
        return false;
    if (db_may_pass(status)) {
        /* A failed renewal may be tried again while the lease lasts. */
        run->storage_failed = now - run->beat_ms > at_least(run, JOB_LEASE_MS) / 2;
        return !run->storage_failed;
    }
    run->storage_failed = status != DB_OK;
    run->lost = status == DB_OK && !lease.ours;
    run->cancelled = status == DB_OK && lease.ours && lease.cancel_requested;
    run->beat_ms = now;
    return !run->storage_failed && !run->lost && !run->cancelled;
}

bool job_run_must_stop(struct job_run *run)
{
    const struct api_job_control *control = run->control;
    run->stopping = control->stop_requested && control->stop_requested(control->context);
    return run->stopping;
}

bool job_run_goes_on(struct job_run *run)
{
    return !job_run_must_stop(run) && job_run_beat(run, false, JOB_LEASE_MS);
}

enum db_status job_lease_save(struct job_run *run, struct job_checkpoint *checkpoint,
                              struct job_lease *out)
{
    checkpoint->now_ms = run->app->settings.now_ms();
    checkpoint->lease_ms = at_least(run, checkpoint->lease_ms);
    enum db_status status = db_clock(run->db, &checkpoint->now_ms);
    return status == DB_OK ? jobs_save_checkpoint(run->db, checkpoint, out) : status;
}

enum db_status job_lease_store(struct job_run *run, uint64_t steps_done, const unsigned char *bytes,
                               size_t size)
{
    struct job_checkpoint checkpoint = {.id = run->job.id,
                                        .worker = run->control->worker,
                                        .step = (int64_t)steps_done,
                                        .hides_step = job_plan_is_unprotected(&run->plan),
                                        .lease_ms = JOB_LEASE_MS};
    struct job_lease lease = {0};
    unsigned char *box = NULL;
    if (job_lease_broken(run))
        return DB_FAILED;
    if (!job_checkpoint_close(run, bytes, size, &box, &checkpoint.size))
        return DB_MEMORY;
    checkpoint.bytes = box;
    enum db_status status = job_lease_save(run, &checkpoint, &lease);
    free(box);
    if (job_lease_broken(run))
        return DB_FAILED;
    run->saved_ms = run->app->settings.now_ms();
    if (db_may_pass(status))
        return status;
    run->storage_failed = status != DB_OK;
    run->lost = status == DB_OK && !lease.ours;
    run->cancelled = run->cancelled || (status == DB_OK && lease.stopped); /* nothing was kept */
    return run->storage_failed || run->lost || lease.stopped ? DB_FAILED : DB_OK;
}

enum algorithm_status job_run_held_up(const struct job_run *run)
{
    if (run->waiting)
        return ALGORITHM_NO_MEMORY;
    if (run->lost || run->storage_failed || run->stopping)
        return ALGORITHM_PAUSED;
    if (run->cancelled)
        return ALGORITHM_CANCELLED;
    return ALGORITHM_OK;
}

bool job_run_keep(struct job_run *run, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    enum db_status status = job_lease_store(run, steps_done, bytes, size);
    run->waiting = run->waiting || db_may_pass(status);
    return status == DB_OK;
}
