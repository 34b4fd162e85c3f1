/* The hooks of a training: whether to go on, storing a checkpoint, reading the experts' networks,
 * and showing progress. */
#include "api/jobs/run/job_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/jobs/ask/job_parts.h"
#include "api/json/json_text.h"

#define SHOW_EVERY_MS 1000
#define SAVE_EVERY_MS 5000

static void note_return(void *context, double mean_return)
{
    struct job_run *run = context;
    run->has_return = true;
    run->mean_return = mean_return;
}

/* Stores public figures of the progress, at most once a second. A write that fails is no loss. */
static void show_progress(struct job_run *run)
{
    int64_t now = run->app->settings.now_ms();
    if ((!run->has_return && run->finding_count == 0) || job_lease_broken(run) ||
        (run->shown_ms != 0 && now - run->shown_ms < SHOW_EVERY_MS))
        return;
    run->shown_ms = now;
    if (run->has_return)
        (void)jobs_show_return(run->db, run->job.id, run->control->worker, run->mean_return);
    job_teacher_show(run);
}

static enum algorithm_pulse hook_pulse(void *context, uint64_t steps_done)
{
    struct job_run *run = context;
    run->step = steps_done;
    show_progress(run);
    if (job_run_must_stop(run))
        return PULSE_SAVE_AND_PAUSE;
    if (!job_run_beat(run, false, JOB_LEASE_MS))
        return PULSE_CANCEL;
    int64_t now = run->app->settings.now_ms();
    if (now < run->saved_ms || now - run->saved_ms >= SAVE_EVERY_MS)
        return PULSE_SAVE;
    return PULSE_CONTINUE;
}

/* Stores a checkpoint. When the disk is full the previous checkpoint stays, and steps lost in a
 * crash are run again. */
static bool hook_save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    return job_lease_store(context, steps_done, bytes, size) != DB_FAILED;
}

static void note_finding(void *context, const char *name, double value)
{
    struct job_run *run = context;
    unsigned i = 0;
    while (i < run->finding_count && strcmp(run->findings[i].name, name) != 0)
        i++;
    assert(i < JOB_RUN_FINDINGS);
    run->finding_count += i == run->finding_count;
    run->findings[i].name = name;
    run->findings[i].value = value;
}

static void take_ranges(void *context, struct features *ranges)
{
    struct job_run *run = context;
    assert(!run->ranges);
    run->ranges = ranges;
}

json_t *job_findings_json(const struct job_run *run)
{
    json_t *object = json_object();
    if (run->ranges)
        json_object_set_new(object, "ranges", job_features_json(run->ranges));
    for (unsigned i = 0; i < run->finding_count; i++)
        json_object_set_new(object, run->findings[i].name, json_number(run->findings[i].value));
    return object;
}

static void take_release(void *context, struct q_release *release, bool injected_noise)
{
    struct job_run *run = context;
    assert(!run->release);
    run->release = release;
    run->injected_noise = injected_noise;
}

static void hook_parallel(void *context, void (*work)(void *what, uint32_t i), void *what,
                          uint32_t count)
{
    const struct job_run *run = context;
    run->control->parallel(run->control->context, work, what, count);
}

static enum algorithm_status hook_experts(void *context, struct expert_policies **out)
{
    struct job_run *run = context;
    enum algorithm_status status = ALGORITHM_OK;
    *out = job_run_load_experts(run);
    if (!*out)
        status = job_run_held_up(run);
    if (!*out && status == ALGORITHM_OK)
        return ALGORITHM_BAD_DATA;
    return status;
}

struct algorithm_hooks job_hooks_of(struct job_run *run)
{
    /* Returns of episodes that the mechanism protects must not be shown. */
    enum algorithm_mechanism mechanism = run->plan.request.mechanism;
    struct algorithm_hooks hooks = {.context = run,
                                    .pulse = hook_pulse,
                                    .save = hook_save,
                                    .experts = hook_experts,
                                    .ask_teacher = job_teacher_ask,
                                    .show_finding = note_finding,
                                    .give_ranges = take_ranges,
                                    .give_release = take_release};
    if (run->control->parallel)
        hooks.parallel = hook_parallel;
    if (job_plan_is_public(&run->plan) &&
        (mechanism == MECHANISM_NONE || mechanism == MECHANISM_TEACHER_ANSWERS))
        hooks.show_return = note_return;
    return hooks;
}
