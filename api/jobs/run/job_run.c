/* One turn of a worker: claim a job, load its data, train, evaluate, store the end.
 *
 * DESIGN. The worker owns the job by a lease that every heartbeat renews; once that is lost it
 * writes nothing more, and whoever has the lease goes on from the last checkpoint. What can be seen
 * of a running job (step, time) depends on public inputs. Why a job failed is one of a closed list
 * of sentences, because a failure is an output too. A database or a memory that fails now may serve
 * later: such a job is left as it is, with its hold and its checkpoint, until its lease runs out.
 */
#include "api/jobs/run/job_run.h"
#include "algos/release/q_release.h"
#include "api/jobs/ask/job_choose.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/call/app.h"
#include "api/jobs/ask/job_play.h"
#include "api/jobs/ask/job_release.h"
#include "api/jobs/ask/job_shards.h"
#include "api/jobs/ask/job_stage.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/jobs/ask/job_teacher.h"
#include "api/jobs/run/job_complete.h"
#include "api/jobs/run/job_hooks.h"
#include "api/jobs/run/job_lease.h"
#include "api/jobs/run/run_play.h"
#include "api/jobs/run/run_release.h"
#include "api/jobs/run/run_shards.h"
#include "api/jobs/run/run_stage.h"
#include "api/jobs/run/run_sweep.h"
#include "api/jobs/run/run_teacher.h"
#include "api/worlds/world_run.h"
#include "storage/uploads.h"

#define DATA_DAMAGED "The dataset is damaged, or does not fit into memory."

/* Claims that ended neither in a further checkpoint nor in order: then the job is what ends its
 * worker, and would do so for ever. An evaluation that finds no memory counts, too: nothing is lost
 * that was paid for when it is left out. A training that finds none, be it to store its end, is
 * tried again until it does or is cancelled, for giving it up would cost its whole price. */
#define ATTEMPTS_MAX 5

/* ---- the end */

void job_ending_fail(struct job_ending *ending, enum problem problem, const char *detail)
{
    ending->state = JOB_FAILED;
    ending->problem = problem;
    ending->detail = detail;
}

/* Words of a training that did not give a policy. MESSAGE is about public facts or about iterates:
 * the latter only leave when the iterates may. */
static void explain(const struct job_run *run, enum algorithm_status status, const char *message,
                    struct job_ending *ending)
{
    bool may_tell = job_plan_releases(&run->plan) && message && *message != '\0';
    switch (status) {
    case ALGORITHM_INFEASIBLE:
        job_ending_fail(ending, PROBLEM_INFEASIBLE, "The budget cannot pay one step.");
        break;
    case ALGORITHM_BAD_DATA:
        job_ending_fail(ending, PROBLEM_DATA_UNREADABLE, DATA_DAMAGED);
        break;
    case ALGORITHM_BAD_CHECKPOINT:
        job_ending_fail(ending, PROBLEM_DATA_UNREADABLE, "The job's checkpoint is damaged.");
        break;
    case ALGORITHM_NO_RANDOMNESS:
        job_ending_fail(ending, PROBLEM_TRAINING_FAILED, "The system gave no randomness.");
        break;
    default:
        job_ending_fail(ending, PROBLEM_TRAINING_FAILED,
                        may_tell ? message : "The training could not go on with these settings.");
    }
}

static enum algorithm_status train(struct job_run *run, const struct dataset *data,
                                   struct policy **out_policy, const char **message)
{
    void *checkpoint = NULL;
    size_t size = 0;
    int64_t step = 0;
    enum db_status status = jobs_load_checkpoint(run->db, run->job.id, &step, &checkpoint, &size);
    if (status != DB_OK && status != DB_NONE) {
        run->storage_failed = true;
        return ALGORITHM_PAUSED;
    }
    if (status == DB_OK && run->plan.algorithm->gives_q_release &&
        !job_release_unseal(run, &checkpoint, &size)) {
        free(checkpoint);
        return ALGORITHM_NO_MEMORY;
    }
    if (run->resumed && run->control->resumed)
        run->control->resumed(run->control->context, run->job.id, (uint64_t)step);
    run->saved_ms = run->app->settings.now_ms();
    double physics[ENV_MAX_PARAMETERS];
    struct algorithm_run training = {
        .request = &run->plan.request,
        .plan = &run->plan.plan,
        .data = data,
        .checkpoint = checkpoint,
        .checkpoint_size = size,
        .hooks = job_hooks_of(run),
    };
    if (!job_choose_place(run->app, &run->plan, physics, &training.choice)) {
        free(checkpoint);
        *message = "This server does not have the environment to choose in any more.";
        return ALGORITHM_BAD_INPUT;
    }
    run->trained = true;
    enum algorithm_status outcome = run->plan.shards > 0 ? job_shards_train(run, &training, message)
                                    : run->plan.try_count > 0
                                        ? job_sweep_train(run, &training, out_policy, message)
                                        : job_stage_train(run, &training, out_policy, message);
    if (checkpoint)
        sodium_memzero(checkpoint, size);
    free(checkpoint);
    job_teacher_show(run);
    return outcome;
}

static bool still_ours(void *context)
{
    return job_run_beat(context, false, JOB_LEASE_MS);
}

/* For algorithms that play instead of reading data. */
static enum algorithm_status train_in_world(struct job_run *run, struct policy **out_policy,
                                            const char **message)
{
    struct algorithm_request *request = &run->plan.request;
    const struct worlds *worlds = run->app->settings.worlds;
    const struct env *world = worlds_find(worlds, run->plan.learn.name);
    if (!world || !job_world_physics(&run->plan.learn, world, request->world_parameters)) {
        *message = "This server does not have the environment any more.";
        return ALGORITHM_BAD_INPUT;
    }
    struct world_run *playing = world_run_open(worlds, world, still_ours, run);
    if (!playing)
        return ALGORITHM_NO_MEMORY;
    request->world = world_run_env(playing);
    enum algorithm_status status = train(run, NULL, out_policy, message);
    enum world_fault fault = world_run_fault(playing);
    if (status == ALGORITHM_BAD_INPUT && fault != WORLD_OK) {
        snprintf(run->detail, sizeof run->detail, "The world's program %s.",
                 world_fault_text(fault));
        *message = run->detail;
    }
    request->world = NULL;
    world_run_close(playing);
    return status;
}

/* What follows when the data could not be read. Too little memory ends a job that no worker had
 * before, because that costs nothing; a later one would pay for what it may have run. */
static bool without_data(const struct job_run *run, struct job_ending *ending)
{
    if (run->cancelled)
        ending->state = JOB_CANCELLED;
    else
        job_ending_fail(ending, PROBLEM_DATA_UNREADABLE, DATA_DAMAGED);
    return !run->lost && !run->storage_failed && !run->stopping && !(run->starved && run->resumed);
}

/* What an earlier worker finished and kept: a policy, or run->release. */
static struct policy *take_kept(struct job_run *run)
{
    if (run->plan.algorithm->plays_given)
        return NULL;
    if (run->plan.algorithm->gives_q_release) {
        (void)job_release_kept(run);
        run->finished = run->release != NULL;
        return NULL;
    }
    if (run->plan.shards > 0)
        return NULL; /* nothing comes between its training and its end */
    struct policy *policy = job_complete_kept(run);
    run->finished = policy != NULL;
    return policy;
}

/* What is to follow a run that is over, or not; false when it has no end to be stored now. */
static bool after(const struct job_run *run, bool over, struct job_ending *ending)
{
    if (run->lost || run->storage_failed || run->starved)
        return false;
    if (run->cancelled) {
        ending->state = JOB_CANCELLED;
        return true;
    }
    return over;
}

/* Runs the job that was claimed; false when it has no end to be stored now. */
static bool run_job(struct job_run *run, struct job_ending *ending)
{
    struct policy *policy = take_kept(run);
    const char *message = NULL;
    enum algorithm_status status = ALGORITHM_OK;
    if (!policy && !run->release) {
        bool readable = !run->storage_failed && !run->starved;
        bool plays = run->plan.learn.name[0] != '\0';
        bool reads = run->plan.algorithm->needs_dataset && !plays;
        struct dataset *data = readable && reads ? job_run_load(run) : NULL;
        if (!readable || (reads && !data))
            return without_data(run, ending);
        status =
            plays ? train_in_world(run, &policy, &message) : train(run, data, &policy, &message);
        dataset_free(data);
    }
    run->starved = run->starved || status == ALGORITHM_NO_MEMORY;
    bool over = status != ALGORITHM_PAUSED;
    if (status == ALGORITHM_OK) {
        ending->policy = policy; /* freed with the ending, whatever becomes of it */
        over = job_complete(run, policy, ending);
    } else if (status != ALGORITHM_CANCELLED && !run->starved) {
        explain(run, status, message, ending);
    }
    run->cancelled = run->cancelled || status == ALGORITHM_CANCELLED;
    return after(run, over, ending);
}

/* Overwrites what deleted datasets left, when there is nothing better to do. */
static enum api_job_turn tidy(struct db *db, const struct api_job_control *control)
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
    if (run->starved) { /* the lease stays, so that it is not tried again at once */
        if (!run->finished)
            (void)jobs_excuse(run->db, run->job.id, run->control->worker, run->untouched);
        snprintf(note, 256, "%s: memory ran short, to be tried again", run->job.id);
        return API_JOB_PAUSED;
    }
    enum db_status status = jobs_release_leases(run->db, run->control->worker);
    snprintf(note, 256, "%s: paused at step %llu", run->job.id, (unsigned long long)run->step);
    return status == DB_OK || status == DB_NONE ? API_JOB_PAUSED : API_JOB_FAILED_STORAGE;
}

static enum api_job_turn end_job(struct job_run *run, const struct job_ending *ending,
                                 char note[256])
{
    struct job_ending kept = *ending;
    kept.evaluated = kept.evaluated && kept.state == JOB_SUCCEEDED;
    enum db_status status = job_run_finish(run, &kept);
    if (status == DB_NONE && run->lost) {
        snprintf(note, 256, "%s: another worker has it", run->job.id);
        return API_JOB_PAUSED;
    }
    if (status != DB_OK && run->starved && kept.state == JOB_SUCCEEDED)
        return pause_job(run, note);
    if (status != DB_OK) {
        snprintf(note, 256, "%s: its end could not be stored", run->job.id);
        return API_JOB_FAILED_STORAGE;
    }
    snprintf(note, 256, "%s: %s %s %s after %llu steps%s%s", run->job.id, run->job.algorithm,
             run->job.mechanism, job_state_name(kept.state), (unsigned long long)run->step,
             kept.state == JOB_FAILED ? ", " : "",
             kept.state == JOB_FAILED ? problem_info(kept.problem)->slug : "");
    return API_JOB_RAN;
}

/* It may have run any of its steps: the whole price is paid. False: not to be ended now. */
static bool give_up(struct job_run *run, struct job_ending *ending)
{
    bool planned = job_plan_read(run->job.plan, &run->plan, &run->starved);
    run->resumed = true;
    struct policy *policy = planned ? take_kept(run) : NULL;
    if (policy || run->release) {
        job_complete_unevaluated(
            run, policy, "it ended the server, or ran short of memory, again and again", ending);
        return true;
    }
    bool plays = planned && run->plan.algorithm->plays_given;
    job_ending_fail(
        ending, plays ? PROBLEM_EVALUATION_FAILED : PROBLEM_TRAINING_FAILED,
        "The job ended its worker again and again without getting on; it may need more memory "
        "than there is.");
    return !planned || (!run->storage_failed && !run->starved);
}

/* What was planned by another version, whose parameters were others. */
static void refuse_plan(struct job_run *run, struct job_ending *ending)
{
    const char *what = "The job's plan is not one of this version";
    if (!run->plan.unfit) {
        snprintf(run->detail, sizeof run->detail, "%s.", what);
    } else {
        snprintf(run->detail, sizeof run->detail,
                 "%s: its parameter %s is missing there, or has a value that is none any more. "
                 "Submit the job again.",
                 what, run->plan.unfit);
    }
    job_ending_fail(ending, PROBLEM_DATA_UNREADABLE, run->detail);
}

enum api_job_turn api_job_turn(struct app *app, struct db *db,
                               const struct api_job_control *control, char out_note[256])
{
    struct job_run run = {.app = app, .db = db, .control = control};
    int64_t now = app->settings.now_ms();
    out_note[0] = '\0';
    enum db_status status = jobs_claim(db, control->worker, now, JOB_LEASE_MS, &run.job);
    if (status == DB_NONE || status == DB_RETRY)
        return tidy(db, control);
    if (status != DB_OK)
        return API_JOB_FAILED_STORAGE;
    run.step = (uint64_t)run.job.step;
    run.resumed = run.job.step > 0 || run.job.started_ms != now;
    run.beat_ms = now;
    struct job_ending ending = {.state = JOB_CANCELLED};
    bool over = true;
    if (run.job.attempts > ATTEMPTS_MAX && !run.job.cancel_requested) {
        over = give_up(&run, &ending);
    } else if (!job_plan_read(run.job.plan, &run.plan, &run.starved)) {
        over = !run.starved || run.job.cancel_requested;
        run.untouched = !run.resumed;
        if (!run.job.cancel_requested)
            refuse_plan(&run, &ending);
    } else if (!run.job.cancel_requested) {
        snprintf(run.environment, sizeof run.environment, "%s", run.job.environment);
        over = run.plan.algorithm->plays_given ? after(&run, job_play(&run, &ending), &ending)
                                               : run_job(&run, &ending);
    } else { /* cancelled while nobody had it */
        ending.policy = take_kept(&run);
        over = !run.storage_failed && !run.starved;
    }
    enum api_job_turn turn = over ? end_job(&run, &ending, out_note) : pause_job(&run, out_note);
    policy_free(ending.policy);
    job_plan_clear(&run.plan);
    q_release_free(run.release);
    ensemble_free(run.ensemble);
    job_done(&run.job);
    return turn;
}
