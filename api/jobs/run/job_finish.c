/* How a job's end is stored.
 *
 * DESIGN. One transaction holds the policy, its certificate, the settlement of the hold and the
 * job's state: either the policy exists and is paid for, or neither. A job whose training ran to
 * its end pays its whole plan, and has its policy, whatever became of its evaluation. One that was
 * cancelled pays what its steps cost as far as they are known exactly: training that ended in its
 * pulse, in the first worker that had it. On any doubt the whole price is paid; nothing is paid
 * only when no step can have run. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/schedule.h"
#include "api/call/app.h"
#include "api/jobs/ask/job_judge.h"
#include "api/jobs/ask/job_release.h"
#include "api/jobs/ask/job_shards.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/jobs/ask/job_teacher.h"
#include "api/jobs/run/job_certificate.h"
#include "api/jobs/run/job_run.h"
#include "api/jobs/run/run_judge.h"
#include "api/jobs/run/run_release.h"
#include "api/jobs/run/run_shards.h"
#include "api/jobs/run/run_sweep.h"
#include "api/jobs/run/run_teacher.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"
#include "storage/policies.h"

struct finish {
    struct job_run *run;
    const struct job_ending *ending;
    struct policy_row row;
    unsigned char *bytes;
    size_t size;
    char *certificate;
    struct job_release release; /* where run->release is there */
    int64_t units, delta_units; /* to be paid */
    uint64_t steps;             /* noisy ones, that they pay for */
    bool before;                /* whether they pay for a first stage */
    char *event;
    char *findings;                 /* NULL: none */
    char *asked;                    /* of a job that asks a teacher: findings, before a judge's */
    struct job_teacher_spent spent; /* what they tell of */
    int64_t now_ms;
};

static void set_price(struct finish *finish)
{
    const struct job_run *run = finish->run;
    const struct job_row *job = &run->job;
    finish->units = job->hold_units;
    finish->delta_units = job->hold_delta;
    finish->steps = run->plan.plan.privacy.steps;
    finish->before = true;
    if (finish->ending->policy || run->release || run->resumed) /* it ran to its end, or may have */
        return;
    if (!run->trained) { /* the data were read at most; no step was taken */
        finish->units = finish->delta_units = 0;
        finish->steps = 0;
        finish->before = false;
        return;
    }
    /* A first stage that was begun is paid for as a whole. */
    const struct dp_sgd_plan *privacy = &run->plan.plan.privacy;
    const struct schedule schedule = {run->plan.request.seed, run->plan.request.plain_share};
    uint64_t noisy = schedule_noisy_steps(&schedule, run->step);
    double epsilon = 0;
    int64_t units = 0;
    bool exact = finish->ending->state == JOB_CANCELLED && run->plan.try_count == 0 &&
                 dp_sgd_plan_epsilon_after(privacy, noisy, &epsilon) == DP_SGD_PLAN_OK &&
                 ledger_units_up(epsilon, &units) && units < finish->units;
    if (exact) {
        finish->steps = noisy;
        finish->units = units;
        /* Few steps may be (0, delta)-private with a delta that is not 0. */
        bool told = noisy > 0 || privacy->before.times > 0;
        finish->delta_units = told ? finish->delta_units : 0;
    }
}

/* An ensemble of a job that was cancelled at the last moment is dropped. */
static bool gives_policy(const struct finish *finish)
{
    bool whole = finish->run->ensemble && finish->ending->state == JOB_SUCCEEDED;
    return finish->ending->policy || whole;
}

static bool prepare_policy(struct finish *finish)
{
    const struct job_run *run = finish->run;
    const struct job_row *job = &run->job;
    struct policy *policy = finish->ending->policy;
    struct policy_row *row = &finish->row;
    *row = (struct policy_row){.released = job_plan_releases(&run->plan),
                               .state_dim = run->plan.request.state_dim,
                               .action_count = run->plan.request.action_count,
                               .created_ms = finish->now_ms};
    id_new("pol_", row->id);
    memcpy(row->owner, job->owner, ID_SIZE);
    memcpy(row->dataset, job->dataset, ID_SIZE);
    memcpy(row->job, job->id, ID_SIZE);
    snprintf(row->name, sizeof row->name, "%s of %s", job->algorithm, job->id);
    snprintf(row->environment, sizeof row->environment, "%s", run->environment);
    snprintf(row->mechanism, sizeof row->mechanism, "%s", job->mechanism);
    if (policy && run->plan.request.mechanism != MECHANISM_NONE) {
        id_new("crt_", row->certificate);
        finish->certificate = job_certificate(run->app, job, &run->plan, row->certificate, row->id,
                                              policy->injected_noise, finish->now_ms);
        if (!finish->certificate)
            return false;
    }
    if (run->ensemble) {
        row->shards = run->plan.shards;
        return job_shards_seal(run, row->id, &finish->bytes, &finish->size);
    }
    return policy_to_bytes(policy, &finish->bytes, &finish->size);
}

static bool prepare_findings(struct finish *finish)
{
    const struct job_run *run = finish->run;
    bool sweep = run->plan.try_count > 0;
    bool asks = run->plan.teacher[0] != '\0';
    json_t *object = sweep  ? job_sweep_findings(run)
                     : asks ? json_text_stored(finish->asked)
                            : json_object();
    size_t size = 0;
    for (unsigned i = 0; i < run->finding_count && !asks; i++)
        json_member_add(&object, run->findings[i].name, json_number(run->findings[i].value));
    bool all = object && (sweep || asks || json_object_size(object) == run->finding_count) &&
               job_judge_show(run, object);
    finish->findings = all ? json_text_write(object, false, &size) : NULL;
    json_decref(object);
    return finish->findings && size < JOB_FINDINGS_SIZE;
}

static enum db_status settle(struct db *db, const struct finish *finish)
{
    const struct job_row *job = &finish->run->job;
    if (job->account[0] == '\0')
        return DB_OK;
    const struct ledger_charge charge = {
        .prices = {{job->account, finish->units, finish->delta_units}},
        .count = finish->units > 0 || finish->delta_units > 0 ? 1 : 0,
        .client = job->owner,
        .resource = job->id,
        .event = finish->event,
        .now_ms = finish->now_ms};
    struct ledger_outcome outcome;
    enum db_status status = ledger_settle(db, &charge, &outcome);
    return status == DB_OK && outcome.verdict != LEDGER_OK ? DB_FAILED : status;
}

static enum db_status finish_work(struct db *db, void *context)
{
    struct finish *finish = context;
    struct job_run *run = finish->run;
    const struct job_ending *ending = finish->ending;
    enum db_status status = DB_OK;
    if (gives_policy(finish)) {
        status =
            policies_insert(db, &finish->row, finish->bytes, finish->size, finish->certificate);
    }
    if (status != DB_OK)
        return db_owed(status);
    if (run->release)
        status = job_release_store(db, run, &finish->release);
    if (status != DB_OK)
        return status;
    const char *policy = gives_policy(finish)         ? finish->row.id
                         : finish->release.has_policy ? finish->release.policy.id
                                                      : NULL;
    const struct job_end end = {
        .id = run->job.id,
        .worker = run->control->worker,
        .state = ending->state,
        .step = (int64_t)(ending->state == JOB_SUCCEEDED ? run->plan.plan.total_steps : run->step),
        .policy = policy,
        .q_release = !run->release ? NULL : finish->release.row.id,
        .has_evaluation = ending->evaluated,
        .mean_return = ending->evaluation.mean_return,
        .std_return = ending->evaluation.std_return,
        .episodes = ending->evaluation.episodes,
        .problem_slug = ending->state == JOB_FAILED ? problem_info(ending->problem)->slug : NULL,
        .problem_detail = ending->state == JOB_FAILED ? ending->detail : NULL,
        .findings = finish->findings,
        .epsilon_spent = finish->asked ? finish->spent.epsilon : ledger_units_value(finish->units),
        .now_ms = finish->now_ms};
    bool ours = false;
    status = jobs_finish(db, &end, &ours);
    if (status == DB_OK && !ours) {
        run->lost = true;
        return DB_NONE;
    }
    return status == DB_OK ? settle(db, finish) : db_owed(status);
}

/* What the certificate of a student's policy says was spent: all that the payer's account had spent
 * by the last answer. */
static void set_account(struct finish *finish)
{
    struct dp_sgd_plan *privacy = &finish->run->plan.plan.privacy;
    privacy->epsilon = privacy->epsilon_renyi = finish->spent.account_epsilon;
    privacy->delta = finish->spent.account_delta;
}

enum db_status job_run_finish(struct job_run *run, const struct job_ending *ending)
{
    bool findings = run->plan.algorithm && run->plan.algorithm->gives_findings;
    bool shows = findings || run->plan.try_count > 0 || run->judged;
    bool releases = run->plan.algorithm && run->plan.algorithm->gives_q_release;
    bool plays = run->plan.algorithm && run->plan.algorithm->plays_given;
    bool policy = ending->policy || run->ensemble;
    assert(ending->state != JOB_SUCCEEDED || policy == !(findings || releases || plays));
    assert(!plays || (!policy && !run->release));
    assert(ending->state != JOB_SUCCEEDED || (run->release != NULL) == releases);
    assert(ending->state != JOB_FAILED || ending->detail);
    struct finish finish = {.run = run, .ending = ending, .now_ms = run->app->settings.now_ms()};
    bool asks = run->plan.teacher[0] != '\0';
    finish.asked = asks ? job_teacher_all_findings(run) : NULL;
    if (asks && (!finish.asked || !job_teacher_spent_of(finish.asked, &finish.spent))) {
        run->starved = finish.asked != NULL; /* else it is the database */
        free(finish.asked);
        return DB_FAILED;
    }
    if (asks)
        set_account(&finish);
    set_price(&finish);
    finish.event = job_plan_event(&run->plan, finish.steps, finish.before);
    enum db_status status = DB_FAILED;
    bool written =
        finish.event && (!gives_policy(&finish) || prepare_policy(&finish)) &&
        (!run->release || job_release_prepare(run, finish.now_ms, &finish.release)) &&
        ((!asks && !(shows && ending->state == JOB_SUCCEEDED)) || prepare_findings(&finish));
    /* What cannot be written finds no memory, but for findings that are too long. */
    run->starved = !written && !finish.findings;
    if (written)
        status = db_transact(run->db, finish_work, &finish);
    free(finish.event);
    free(finish.findings);
    free(finish.asked);
    free(finish.bytes);
    free(finish.certificate);
    job_release_clear(&finish.release);
    return status;
}
