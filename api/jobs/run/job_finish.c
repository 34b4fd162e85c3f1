/* How a job's end is stored.
 *
 * DESIGN. One transaction holds the policy, its certificate, the settlement of the hold and the
 * job's state: either the policy exists and is paid for, or neither. A job whose training ran to
 * its end pays its whole plan and gives its policy, whatever became of its evaluation. A cancelled
 * job pays for its steps if their number is known exactly: when the first worker's training ended
 * at a pulse. In any doubt the job pays the whole price. It pays nothing only when no step can have
 * run. */
#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/schedule.h"
#include "api/call/app.h"
#include "api/call/budget_price.h"
#include "api/call/sealed.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/run/job_run.h"
#include "api/jobs/run/run_release.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"
#include "storage/ledger/trail.h"
#include "storage/policies.h"
#include "storage/teachers.h"

struct finish {
    struct job_run *run;
    const struct job_ending *ending;
    struct policy_row row;
    unsigned char *bytes;
    size_t size;
    char *certificate;
    struct job_release release; /* where run->release is there */
    int64_t units, delta_units; /* to be paid: epsilon and delta in the ledger's units */
    bool whole;                 /* whether these are all that was reserved */
    uint64_t steps;             /* noisy ones, that they pay for */
    bool before;                /* whether they pay for a first stage */
    char why[JOB_DETAIL_SIZE];  /* of a cancelled job: why it pays that; "": it has no price */
    char *event;
    char *findings;                 /* NULL: none */
    char *asked;                    /* of a job that asks a teacher: findings, before a judge's */
    struct job_teacher_spent spent; /* the figures behind these findings */
    int64_t now_ms;
};

static void set_price(struct finish *finish)
{
    const struct job_run *run = finish->run;
    const struct job_row *job = &run->job;
    finish->units = job->hold_units;
    finish->delta_units = job->hold_delta;
    finish->steps = run->plan.plan.privacy.steps;
    finish->before = finish->whole = true;
    if (finish->ending->policy || run->release || run->resumed) /* it ran to its end, or may have */
        return;
    if (!run->trained) { /* the data were read at most; no step was taken */
        finish->units = finish->delta_units = 0;
        finish->steps = 0;
        finish->before = finish->whole = false;
        return;
    }
    /* The job pays for the whole of a first stage that was begun. Its judge comes last, and has
     * drawn nothing. */
    struct dp_sgd_plan privacy = run->plan.plan.privacy;
    if (run->plan.request.judge.held_out > 0.0)
        privacy.before.times = 0;
    const struct schedule schedule = {run->plan.request.seed, run->plan.request.plain_share};
    uint64_t noisy = schedule_noisy_steps(&schedule, run->step);
    double epsilon = 0;
    int64_t units = 0;
    bool exact = finish->ending->state == JOB_CANCELLED && run->plan.try_count == 0 &&
                 dp_sgd_plan_epsilon_after(&privacy, noisy, &epsilon) == DP_SGD_PLAN_OK &&
                 ledger_units_up(epsilon, &units) && units < finish->units;
    finish->whole = !exact;
    if (exact) {
        finish->steps = noisy;
        finish->units = units;
        finish->before = privacy.before.times > 0;
        /* Few steps may be (0, delta)-private with a delta that is not 0. */
        if (noisy == 0 && !finish->before)
            finish->delta_units = 0;
    }
}

/* Says for the record why a cancelled job pays what set_price found. */
static void explain_price(struct finish *finish)
{
    const struct job_run *run = finish->run;
    const struct dp_sgd_plan *privacy = &run->plan.plan.privacy;
    bool staged = run->plan.request.stage.kind != STAGE_NONE;
    const char *stage = staged ? ", with the whole first stage," : "";
    const char *why = "What it has done may have cost as much as its whole price, so it pays that.";
    if (run->job.account[0] == '\0' || finish->ending->state != JOB_CANCELLED)
        return;
    if (finish->ending->policy || run->release)
        why = "Its training was complete when it was cancelled, so it pays its whole price.";
    else if (run->resumed)
        why =
            "It had been resumed after a stop. What ran before may have run twice, so it pays its "
            "whole price.";
    else if (!run->trained || (finish->units == 0 && finish->delta_units == 0))
        why = "No noisy step had run, so it pays nothing.";
    else if (run->plan.try_count > 0)
        why = "A sweep that is cancelled pays its whole price.";
    snprintf(finish->why, sizeof finish->why, "%s", why);
    if (!finish->whole && (finish->units > 0 || finish->delta_units > 0)) {
        snprintf(finish->why, sizeof finish->why,
                 "%llu of its %llu noisy steps had run. They%s cost epsilon %.6g at its delta of "
                 "%.3g. The rest of the epsilon %.6g that was reserved is free again.",
                 (unsigned long long)finish->steps, (unsigned long long)privacy->steps, stage,
                 ledger_units_value(finish->units), ledger_delta_value(finish->delta_units),
                 ledger_units_value(run->job.hold_units));
    }
}

/* Says so when the job was stopped because data were erased. */
static void explain_stop(struct finish *finish)
{
    bool stopped = false;
    char price[JOB_DETAIL_SIZE];
    (void)jobs_stopped(finish->run->db, finish->run->job.id, &stopped);
    if (!stopped)
        return;
    memcpy(price, finish->why, sizeof price);
    snprintf(finish->why, sizeof finish->why,
             "Data of its dataset were erased while it ran, so nothing of it is released. %.230s",
             price);
}

/* True when the job gives a policy. The ensemble of a job that was cancelled at the last moment is
 * dropped. */
static bool gives_policy(const struct finish *finish)
{
    bool whole = finish->run->ensemble && finish->ending->state == JOB_SUCCEEDED;
    return finish->ending->policy || whole;
}

/* Encrypts for storage what was trained without noise: the ensemble, or an unprotected POLICY. */
static bool seal_policy(const struct job_run *run, const struct policy *policy, const char *id,
                        unsigned char **out, size_t *out_size)
{
    unsigned char *secret = NULL;
    size_t size = 0;
    if (run->ensemble)
        secret = ensemble_to_bytes(run->ensemble, &size);
    else if (!policy_to_bytes(policy, &secret, &size))
        return false;
    bool closed = sealed_close(run->app, run->job.dataset, id, secret, size, out, out_size);
    sodium_memzero(secret, size);
    free(secret);
    return closed;
}

static bool prepare_policy(struct finish *finish)
{
    struct job_run *run = finish->run;
    struct policy *policy = finish->ending->policy;
    struct policy_row *row = &finish->row;
    *row = job_policy_row(run, finish->now_ms);
    if (policy && run->plan.request.mechanism != MECHANISM_NONE) {
        const struct job_subject subject = {"policy", row->id, policy, NULL,
                                            policy->injected_noise};
        finish->certificate = job_run_certificate(run, &subject, finish->now_ms, row->certificate);
        if (!finish->certificate)
            return false;
    }
    row->shards = run->plan.shards;
    if (job_plan_seals_checkpoints(&run->plan))
        return seal_policy(run, policy, row->id, &finish->bytes, &finish->size);
    return policy_to_bytes(policy, &finish->bytes, &finish->size);
}

static void prepare_findings(struct finish *finish)
{
    const struct job_run *run = finish->run;
    json_t *object;
    if (run->plan.try_count > 0)
        object = job_sweep_findings(run);
    else if (finish->asked)
        object = json_text_stored(finish->asked);
    else
        object = job_findings_json(run);
    job_judge_show(run, object);
    job_rehearsal_show(run, object);
    size_t size = 0;
    finish->findings = json_text_write(object, false, &size);
    json_decref(object);
    assert(size < JOB_FINDINGS_SIZE);
}

/* Sets what ACCOUNT pays, in its own unit: what it holds, or what finish->event costs it. */
static enum db_status price_settlement(struct db *db, const struct finish *finish,
                                       const struct ledger_account *account,
                                       struct ledger_price *out)
{
    struct ledger_price held;
    *out = (struct ledger_price){account->id, finish->units, finish->delta_units};
    if (account->renyi_order == 0)
        return DB_OK;
    enum db_status status = ledger_held(db, finish->run->job.id, account->id, &held);
    if (status != DB_OK)
        return status;
    const struct budget_plan done = {.event = finish->event};
    if (finish->whole || !budget_plan_price(account, &done, out) || out->units > held.units ||
        out->delta_units > held.delta_units)
        *out = held;
    return DB_OK;
}

static enum db_status settle_hold(struct db *db, const struct finish *finish)
{
    const struct job_row *job = &finish->run->job;
    struct ledger_account account;
    struct ledger_outcome outcome;
    struct ledger_charge charge = {.count = 1,
                                   .client = NULL, /* who asked for the job */
                                   .resource = job->id,
                                   .event = finish->event,
                                   .now_ms = finish->now_ms};
    if (job->account[0] == '\0')
        return DB_OK;
    enum db_status status = ledger_find(db, job->account, &account);
    if (status == DB_OK)
        status = price_settlement(db, finish, &account, &charge.prices[0]);
    if (status == DB_OK)
        status = ledger_settle(db, &charge, &outcome);
    if (status == DB_OK && outcome.verdict != LEDGER_OK)
        return DB_FAILED;
    return status;
}

static struct job_end end_of(const struct finish *finish)
{
    const struct job_run *run = finish->run;
    const struct job_ending *ending = finish->ending;
    struct job_end end = {.id = run->job.id,
                          .worker = run->control->worker,
                          .state = ending->state,
                          .step = job_lease_shown(run, run->step),
                          .has_evaluation = ending->evaluated,
                          .mean_return = ending->evaluation.mean_return,
                          .std_return = ending->evaluation.std_return,
                          .episodes = ending->evaluation.episodes,
                          .findings = finish->findings,
                          .epsilon_spent = ledger_units_value(finish->units),
                          .now_ms = finish->now_ms};
    if (ending->state == JOB_SUCCEEDED)
        end.step = (int64_t)run->plan.plan.total_steps;
    if (gives_policy(finish))
        end.policy = finish->row.id;
    else if (finish->release.has_policy)
        end.policy = finish->release.policy.id;
    if (run->release)
        end.q_release = finish->release.row.id;
    if (ending->state == JOB_FAILED) {
        end.problem_slug = problem_info(ending->problem)->slug;
        end.problem_detail = ending->detail;
    }
    if (finish->why[0] != '\0')
        end.problem_detail = finish->why;
    if (finish->asked)
        end.epsilon_spent = finish->spent.epsilon;
    return end;
}

/* Notes in the audit trail what the job of END gives. */
static enum db_status note_release(struct db *db, const struct job_end *end)
{
    struct trail_row row = {.time_ms = end->now_ms,
                            .actor = "service",
                            .action = "release",
                            .outcome = "ok",
                            .count = 1};
    snprintf(row.resource, sizeof row.resource, "%s", end->id);
    snprintf(row.subject, sizeof row.subject, "%s", end->q_release ? end->q_release : end->policy);
    return trail_append(db, &row);
}

/* DB_NONE: the lease was lost. */
static enum db_status finish_work(struct db *db, void *context)
{
    struct finish *finish = context;
    struct job_run *run = finish->run;
    bool stopped = false;
    enum db_status status = jobs_stopped(db, run->job.id, &stopped);
    /* Who claims it next finds nothing to release, and it ends as a cancelled job. */
    if (status == DB_OK && stopped && (gives_policy(finish) || run->release)) {
        run->lost = true;
        return DB_NONE;
    }
    if (status == DB_OK && gives_policy(finish))
        status =
            policies_insert(db, &finish->row, finish->bytes, finish->size, finish->certificate);
    if (status == DB_OK && run->release)
        status = job_release_store(db, run, &finish->release);
    const struct job_end end = end_of(finish);
    bool ours = false;
    if (status == DB_OK)
        status = jobs_finish(db, &end, &ours);
    if (status == DB_OK && !ours) {
        run->lost = true;
        return DB_NONE;
    }
    if (status == DB_OK)
        status = settle_hold(db, finish);
    if (status == DB_OK && (end.policy || end.q_release))
        status = note_release(db, &end);
    return db_owed(status);
}

/* Sets the guarantee that the certificate of a student's policy states: the greatest limit that the
 * payer's account, which is a filter, has had so far. What the account has spent is less, but no
 * theorem covers it where answers decided how much was asked. Without an answer it is 0. */
static enum db_status set_guarantee(struct finish *finish)
{
    struct job_run *run = finish->run;
    struct dp_sgd_plan *privacy = &run->plan.plan.privacy;
    struct teacher_client_row standing;
    struct ledger_limits limits = {.greatest_epsilon = 0};
    enum db_status status = DB_OK;
    if (finish->spent.account_epsilon > 0) {
        status = teachers_client_find(run->db, run->plan.teacher, run->plan.payer, &standing);
        if (status == DB_OK)
            status = ledger_limits(run->db, standing.account, &limits);
    }
    privacy->epsilon = privacy->epsilon_renyi = limits.greatest_epsilon;
    privacy->delta = limits.greatest_delta;
    return db_owed(status);
}

/* True when the job has findings to store. */
static bool has_findings(const struct finish *finish)
{
    const struct job_run *run = finish->run;
    if (finish->asked)
        return true;
    /* A job whose evaluation alone failed keeps its policy, and what a judge said of it. */
    bool kept = finish->ending->state == JOB_SUCCEEDED || finish->ending->policy;
    return kept && (run->finding_count > 0 || run->ranges || run->plan.try_count > 0 ||
                    run->judged || run->rehearsed.runs > 0);
}

enum db_status job_run_finish(struct job_run *run, const struct job_ending *ending)
{
    struct finish finish = {.run = run, .ending = ending, .now_ms = run->app->settings.now_ms()};
    if (ending->tick_ms > 0)
        finish.now_ms = ending->tick_ms;
    if (run->plan.teacher[0] != '\0') {
        finish.asked = job_teacher_all_findings(run);
        if (!finish.asked)
            return DB_FAILED;
        finish.spent = job_teacher_spent_of(finish.asked);
        enum db_status found = set_guarantee(&finish);
        if (found != DB_OK) {
            free(finish.asked);
            return found;
        }
    }
    set_price(&finish);
    explain_price(&finish);
    explain_stop(&finish);
    finish.event = job_plan_event(&run->plan, finish.steps, finish.before);
    if (has_findings(&finish))
        prepare_findings(&finish);
    enum db_status status = DB_FAILED;
    bool written = (!gives_policy(&finish) || prepare_policy(&finish)) &&
                   (!run->release || job_release_prepare(run, finish.now_ms, &finish.release));
    run->waiting =
        !written; /* a large network's copies do not fit into memory, or the database failed */
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
