/* A job's training: its data or its world, its checkpoint, and what follows.
 *
 * DESIGN. The visible state of a running job (step, time) depends on public inputs only. A failure
 * is an output too, so its reason is one of a fixed list of sentences. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "algos/release/ensemble.h"
#include "api/call/app.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/run/job_run.h"
#include "api/worlds/world_run.h"

/* Which of the two depends on a setting alone, because the size of the data is secret. */
#define DATA_DAMAGED "The dataset is damaged, or does not fit into memory."
#define DATA_NO_ROOM                                                                               \
    "The dataset is damaged, or neither memory nor the disk of --columns-dir has room for it."

/* Fills ENDING for a training that gave no policy. MESSAGE is about public facts or about iterates;
 * a message about iterates is shown only when the iterates may leave. */
static void explain_failure(const struct job_run *run, enum algorithm_status status,
                            const char *message, struct job_ending *ending)
{
    bool may_tell = job_plan_releases(&run->plan) && message && *message != '\0';
    switch (status) {
    case ALGORITHM_INFEASIBLE:
        job_ending_fail(ending, PROBLEM_INFEASIBLE, "The budget cannot pay one step.");
        break;
    case ALGORITHM_BAD_DATA: job_ending_fail(ending, PROBLEM_DATA_UNREADABLE, DATA_DAMAGED); break;
    case ALGORITHM_BAD_CHECKPOINT:
        job_ending_fail(ending, PROBLEM_DATA_UNREADABLE, "The job's checkpoint is damaged.");
        break;
    default:
        job_ending_fail(ending, PROBLEM_TRAINING_FAILED,
                        may_tell ? message : "The training could not go on with these settings.");
    }
}

static enum algorithm_status run_training(struct job_run *run, const struct algorithm_run *training,
                                          struct policy **out_policy, const char **message)
{
    run->trained = true;
    if (run->plan.shards > 0)
        return ensemble_train(run->plan.algorithm, run->plan.shards, training, &run->ensemble,
                              message);
    if (run->plan.try_count > 0)
        return job_sweep_train(run, training, out_policy, message);
    return job_stage_train(run, training, out_policy, message);
}

static enum algorithm_status train_from(struct job_run *run, const struct dataset *data,
                                        struct policy **out_policy, const char **message)
{
    unsigned char *checkpoint = NULL;
    size_t size = 0;
    int64_t step = 0;
    enum db_status status = job_checkpoint_load(run, &step, &checkpoint, &size);
    if (status != DB_OK && status != DB_NONE) {
        run->storage_failed = true;
        return ALGORITHM_PAUSED;
    }
    if (run->waiting)
        return ALGORITHM_PAUSED;
    if (status == DB_OK && !checkpoint)
        return ALGORITHM_BAD_CHECKPOINT;
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
        .hides_divergence = job_plan_is_unprotected(&run->plan),
    };
    enum algorithm_status outcome = ALGORITHM_BAD_INPUT;
    if (job_choose_place(run->app, &run->plan, physics, &training.choice))
        outcome = run_training(run, &training, out_policy, message);
    else
        *message = "This server does not have the environment to choose in any more.";
    sodium_free(checkpoint);
    job_teacher_show(run);
    return outcome;
}

static bool still_ours(void *context)
{
    return job_run_beat(context, false, JOB_LEASE_MS);
}

/* Trains an algorithm that plays instead of reading data. */
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
    struct world_run *playing = world_run_open(world, still_ours, run);
    if (!playing)
        return ALGORITHM_NO_MEMORY;
    request->world = world_run_env(playing);
    enum algorithm_status status = train_from(run, NULL, out_policy, message);
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

/* Fills ENDING when the data could not be read. Lack of memory ends a job in its first worker,
 * where ending is free; later the job would pay for steps that it may have run. */
static bool without_data(struct job_run *run, struct job_ending *ending)
{
    run->waiting = run->waiting && run->resumed;
    if (!run->cancelled)
        job_ending_fail(ending, PROBLEM_DATA_UNREADABLE,
                        run->app->settings.data_memory_bytes > 0 ? DATA_NO_ROOM : DATA_DAMAGED);
    return !run->stopping;
}

/* Fills ENDING where nothing is left to learn from and the job may say so. A private job goes on:
 * it draws its noise whatever the data are. */
static bool refuse_nothing(const struct job_run *run, const struct dataset *data,
                           struct job_ending *ending)
{
    if (data->transition_count > 0 || !job_plan_is_unprotected(&run->plan))
        return false;
    job_ending_fail(ending, PROBLEM_DATASET_EMPTY, "All data of the dataset were erased.");
    return true;
}

bool job_train(struct job_run *run, struct job_ending *ending)
{
    const struct run_kind *kind = run_kind(&run->plan);
    const char *message = NULL;
    enum algorithm_status status = ALGORITHM_OK;
    struct policy *policy = kind->kept(run);
    run->finished = policy || run->release;
    if (run->storage_failed || run->waiting)
        return false;
    if (!run->finished && run->plan.rehearsal.runs > 0) {
        status = job_rehearse(run, &message);
    } else if (!run->finished && run->plan.learn.name[0] != '\0') {
        status = train_in_world(run, &policy, &message);
    } else if (!run->finished && run->job.dataset[0] == '\0') {
        status = train_from(run, NULL, &policy, &message);
    } else if (!run->finished) {
        struct dataset *data = job_judge_training(run, job_run_load(run));
        if (!data)
            return without_data(run, ending);
        if (refuse_nothing(run, data, ending)) {
            dataset_free(data);
            return true;
        }
        status = train_from(run, data, &policy, &message);
        dataset_free(data);
    }
    if (status == ALGORITHM_OK) {
        ending->policy = policy; /* freed with the ending, whatever becomes of it */
        return kind->complete(run, policy, ending);
    }
    run->waiting = run->waiting || status == ALGORITHM_NO_MEMORY ||
                   status == ALGORITHM_NO_RANDOMNESS; /* both may be there later */
    run->cancelled = run->cancelled || status == ALGORITHM_CANCELLED;
    if (status == ALGORITHM_PAUSED || run->waiting)
        return false;
    if (!run->cancelled)
        explain_failure(run, status, message, ending);
    return true;
}
