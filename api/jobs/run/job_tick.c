/* When the end of an unprotected job is seen.
 *
 * DESIGN. The time of its training depends a little on private data, and no account pays for what
 * it tells. So its worker keeps the result until the time since its start is a power of two of
 * seconds: whoever looks sees only between which two powers the time was. The worker waits itself,
 * because a next job that began earlier would show the moment as well. */
#include "api/call/app.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/run/job_run.h"

#define FIRST_TICK_MS 1000
#define WAIT_MS       250 /* between two looks for a stop or a cancellation */

static int64_t tick_behind(int64_t started_ms, int64_t now_ms)
{
    int64_t span = FIRST_TICK_MS;
    while (started_ms + span < now_ms)
        span *= 2;
    return started_ms + span;
}

/* Drops the result of a job that was cancelled while it waited: else a cancellation would tell
 * whether the training was over. */
static void cancel_waiting(struct job_ending *ending)
{
    policy_free(ending->policy);
    *ending = (struct job_ending){.state = JOB_CANCELLED};
}

/* False: there is a stop or a cancellation, or the lease is lost. */
static bool heeds_callers(struct job_run *run)
{
    return !job_run_must_stop(run) && job_run_beat(run, true, JOB_LEASE_MS);
}

/* Reads the clock by which the job's start was noted. False: it cannot be read. */
static bool read_clock(struct job_run *run, int64_t *now_ms)
{
    *now_ms = run->app->settings.now_ms();
    run->storage_failed = run->storage_failed || db_clock(run->db, now_ms) != DB_OK;
    return !run->storage_failed;
}

bool job_tick_wait(struct job_run *run, struct job_ending *ending)
{
    const struct api_job_control *control = run->control;
    if (!job_plan_is_unprotected(&run->plan) || ending->state == JOB_CANCELLED)
        return true;
    int64_t started = run->job.started_ms, now;
    if (!read_clock(run, &now))
        return false;
    if (now < started) /* the clock was set back */
        return true;
    ending->tick_ms = tick_behind(started, now);
    bool goes_on = heeds_callers(run);
    while (goes_on && control->wait && now >= started && now < ending->tick_ms) {
        int64_t left = ending->tick_ms - now;
        control->wait(control->context, left < WAIT_MS ? left : WAIT_MS);
        goes_on = read_clock(run, &now) && heeds_callers(run);
    }
    if (run->cancelled)
        cancel_waiting(ending);
    return job_run_held_up(run) != ALGORITHM_PAUSED;
}
