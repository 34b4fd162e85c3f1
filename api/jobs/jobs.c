/* Asking for jobs, seeing them and cancelling them. */
#include "api/jobs/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/budget_price.h"
#include "api/call/charged.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/call/refusal.h"
#include "api/jobs/ask/job_advice.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/job_request.h"
#include "api/json/json_text.h"
#include "storage/endings.h"
#include "storage/ledger/trail.h"

#define JOBS_AT_ONCE 1000 /* of all projects of one steward, running or queued */

/* ---- asking */

/* Refuses one more job where the caller's projects have as many as they may. */
static enum problem check_queue(struct call *call)
{
    int64_t count = 0;
    enum db_status status = jobs_under_way(call->db, call->caller.id, &count);
    if (status == DB_OK && count >= JOBS_AT_ONCE)
        return call_problem(call, PROBLEM_CONFLICT,
                            "%d jobs of your projects run or are queued, and there may be no more: "
                            "cancel one, or ask again when one has ended.",
                            JOBS_AT_ONCE);
    return call_db(call, status);
}

enum problem api_jobs_estimate_prepare(struct call *call)
{
    struct job_wish *wish = arena_array(&call->arena, 1, sizeof *wish);
    call->plan = wish;
    enum problem problem = job_wish_read(call, wish);
    if (problem == PROBLEM_NONE && !wish->feasible)
        wish->least_epsilon = job_least_epsilon(wish);
    return problem;
}

enum problem api_jobs_prepare(struct call *call)
{
    enum problem problem = check_queue(call); /* before the work of planning */
    return problem == PROBLEM_NONE ? api_jobs_estimate_prepare(call) : problem;
}

/* Checks the dataset again within this transaction, because PREPARE read it before. */
static enum problem check_dataset_now(struct call *call, const struct job_wish *wish)
{
    struct dataset_row now;
    if (wish->dataset.id[0] == '\0')
        return PROBLEM_NONE; /* it learns without one */
    enum db_status status = datasets_find(call->db, wish->dataset.id, &now);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status == DB_NONE || now.state == DATASET_DELETED)
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such dataset.");
    if (now.state != DATASET_SEALED) {
        return call_problem(call, PROBLEM_DATASET_NOT_SEALED,
                            "Seal the dataset first: POST /v1/datasets/%s:seal.", now.id);
    }
    if (now.experts != wish->dataset.experts || strcmp(now.account, wish->dataset.account) != 0) {
        return call_problem(call, PROBLEM_CONFLICT,
                            "The dataset was changed while the job was planned: ask again.");
    }
    return PROBLEM_NONE;
}

/* Reserves the price of a plan and its EVENT on ACCOUNT, in the account's unit. */
static enum problem hold_on(struct call *call, const struct ledger_account *account,
                            const struct dp_sgd_plan *privacy, const char *event, const char *job,
                            struct ledger_outcome *out_held)
{
    const struct budget_plan plan = {privacy->epsilon, privacy->delta, event};
    struct ledger_charge charge = {.count = 1,
                                   .client = call->caller.id,
                                   .resource = job,
                                   .event = event,
                                   .now_ms = call->now_ms};
    if (!budget_plan_price(account, &plan, &charge.prices[0]))
        return call_problem(call, PROBLEM_INFEASIBLE,
                            "The dataset's account counts Renyi divergence of order %g, at which "
                            "this plan has no finite price: use more noise.",
                            account->renyi_order);
    enum db_status status = ledger_hold(call->db, &charge, out_held);
    if (status != DB_OK)
        return call_db(call, status);
    if (out_held->verdict != LEDGER_OK)
        return refusal_make(call, out_held, NULL);
    return PROBLEM_NONE;
}

/* Reserves the price of JOB on the dataset's account, where it has one. A job that plays in a world
 * has no account to debit; its price is stored with it for views. A rehearsal has no price.
 * *OUT_HELD stays as it is where nothing is held. */
static enum problem hold_price(struct call *call, const struct job_wish *wish, struct job_row *job,
                               struct ledger_outcome *out_held)
{
    const struct dp_sgd_plan *privacy = &wish->plan.plan.privacy;
    bool plays = wish->dataset.id[0] == '\0';
    if (wish->plan.request.mechanism == MECHANISM_NONE || wish->plan.rehearsal.runs > 0 ||
        wish->plan.request.mechanism == MECHANISM_TEACHER_ANSWERS || /* each answer is paid for */
        (!plays && wish->dataset.account[0] == '\0'))
        return PROBLEM_NONE;
    if (!ledger_units_up(privacy->epsilon, &job->hold_units) ||
        !ledger_delta_up(privacy->delta, &job->hold_delta))
        return call_problem(call, PROBLEM_INFEASIBLE, "The price is too large to be counted.");
    if (plays)
        return PROBLEM_NONE;
    memcpy(job->account, wish->dataset.account, ID_SIZE);
    struct ledger_account account;
    enum db_status status = ledger_find(call->db, job->account, &account);
    if (status != DB_OK)
        return call_db(call, status);
    char *event = job_plan_event(&wish->plan, privacy->steps, true);
    enum problem problem = hold_on(call, &account, privacy, event, job->id, out_held);
    free(event);
    return problem;
}

/* Notes in the dataset, and in the audit trail, that its budget does not cover what JOB will
 * reveal. */
static enum problem note_uncovered(struct call *call, const struct job_wish *wish, const char *job)
{
    struct trail_row row = {.time_ms = call->now_ms,
                            .actor = "service",
                            .action = TRAIL_UNCOVERED,
                            .outcome = "ok",
                            .count = 1};
    if (wish->dataset.id[0] == '\0' || !job_plan_uncovers(&wish->plan))
        return PROBLEM_NONE;
    memcpy(row.resource, wish->dataset.id, ID_SIZE);
    memcpy(row.subject, job, ID_SIZE);
    enum db_status status = datasets_uncover(call->db, wish->dataset.id);
    if (status == DB_OK)
        status = trail_append(call->db, &row);
    return call_db(call, status);
}

/* ADVICE (NULL: none) is told with the job. */
static enum problem submit_job(struct call *call, const struct job_wish *wish,
                               const struct job_advice *advice, struct job_row *job)
{
    size_t size;
    job->request = json_text_write(call->body, false, &size);
    job->plan = job_plan_write(&wish->plan);
    enum db_status status = jobs_submit(call->db, job);
    if (status != DB_OK)
        return call_db(call, status);
    struct job_wait wait;
    status = jobs_wait(call->db, job->id, &wait);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/jobs/%s", job->id);
    call_header(call, "Retry-After", "1");
    json_t *json = job_json(call->db, job, &wait, call->now_ms);
    if (json)
        json_object_set_new(json, "advice", advice ? job_advice_json(advice, NULL) : json_null());
    return call_reply_json(call, 202, project_add(call, json, job->owner));
}

/* Refuses what cannot be planned, and names the least epsilon with which it could be. */
static enum problem refuse_infeasible(struct call *call, const struct job_wish *wish)
{
    call_problem_member(call, "least", job_least_json(wish));
    if (wish->least_epsilon > 0) {
        return call_problem(call, PROBLEM_INFEASIBLE,
                            "It cannot be planned: %s. With epsilon %.4g and the same delta it "
                            "can.",
                            wish->why_not, wish->least_epsilon);
    }
    return call_problem(call, PROBLEM_INFEASIBLE, "It cannot be planned: %s.", wish->why_not);
}

/* Refuses a release with more noise than signal, and names the parameter to change. */
static enum problem refuse_drowned(struct call *call, const struct job_plan *plan)
{
    const char *pointer = "/parameters/shards", *more = "must be more";
    if (plan->request.protects_rewards) {
        pointer = "/parameters/value_limit";
        more = "must be more, and reward_scale with it";
        if (plan->plan.release.form == Q_FORM_FEATURES)
            pointer = "/parameters/radius";
    }
    return call_invalid(call, pointer,
                        "%s, or privacy/force true: the noise would be %.3g times the range of the "
                        "values",
                        more, plan->plan.release.noise_to_range);
}

/* Refuses a plan that is expected to earn no more than random play, and says what would do. */
static enum problem refuse_hopeless(struct call *call, const struct job_advice *advice)
{
    struct job_enough enough;
    job_advice_enough(advice, &enough);
    call_problem_member(call, "advice", job_advice_json(advice, &enough));
    call_problem_member(call, "enough", job_enough_json(&enough));
    return call_problem(call, PROBLEM_HOPELESS,
                        "%s Nothing was spent. The advisor (POST /v1/jobs:advise) ranks what could "
                        "be asked instead; privacy/force true trains it all the same.",
                        job_advice_sentence(call, advice, &enough));
}

/* Refuses a policy that was deleted since the request was read. */
static enum problem check_policy_now(struct call *call, const struct job_wish *wish)
{
    bool deleted = false;
    enum db_status status = endings_deleted(call->db, wish->plan.policy, &deleted);
    if (status == DB_OK && deleted)
        return call_invalid(call, "/policy", "is not known");
    return call_db(call, status);
}

/* Refuses a judge that was deleted since the request was read. */
static enum problem check_judge_now(struct call *call, const struct job_wish *wish)
{
    struct dataset_row judge;
    if (wish->plan.judge[0] == '\0')
        return PROBLEM_NONE;
    enum db_status status = datasets_find(call->db, wish->plan.judge, &judge);
    if (status == DB_NONE || (status == DB_OK && judge.state == DATASET_DELETED))
        return call_invalid(call, "/judge/dataset", "is not known");
    return call_db(call, status);
}

enum problem api_jobs_create(struct call *call)
{
    const struct job_wish *wish = call->plan;
    if (!call_owns(call, wish->plan.project)) /* any more */
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such project of yours.");
    enum problem problem = check_queue(call); /* others were asked for meanwhile */
    if (problem == PROBLEM_NONE)
        problem = check_dataset_now(call, wish);
    if (problem == PROBLEM_NONE)
        problem = check_policy_now(call, wish);
    if (problem == PROBLEM_NONE)
        problem = check_judge_now(call, wish);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!wish->feasible)
        return refuse_infeasible(call, wish);
    if (job_plan_drowns(&wish->plan))
        return refuse_drowned(call, &wish->plan);
    struct job_advice advice;
    bool advised = job_advice_look(wish, &advice);
    if (advised && job_advice_refuses(wish, &advice))
        return refuse_hopeless(call, &advice);
    struct job_row job = {.total_steps = (int64_t)wish->plan.plan.total_steps,
                          .state = JOB_QUEUED,
                          .created_ms = call->now_ms};
    struct ledger_outcome held = {.count = 0};
    id_new("job_", job.id);
    memcpy(job.owner, wish->plan.project, ID_SIZE);
    if (wish->plan.rehearsal.runs == 0) /* which names no dataset, so that no worker reads one */
        memcpy(job.dataset, wish->dataset.id, ID_SIZE);
    assert(!job_plan_is_public(&wish->plan) || job.dataset[0] == '\0');
    snprintf(job.environment, sizeof job.environment, "%s", job_plan_world(&wish->plan)->name);
    snprintf(job.algorithm, sizeof job.algorithm, "%s", wish->plan.algorithm->name);
    snprintf(job.mechanism, sizeof job.mechanism, "%s",
             algorithm_mechanism_name(wish->plan.request.mechanism));
    problem = hold_price(call, wish, &job, &held);
    if (problem == PROBLEM_NONE)
        problem = note_uncovered(call, wish, job.id);
    if (problem == PROBLEM_NONE)
        problem = submit_job(call, wish, advised ? &advice : NULL, &job);
    if (problem == PROBLEM_NONE)
        charged_show(call, &held, true);
    job_done(&job);
    return problem;
}

/* ---- seeing */

static void free_job(void *job)
{
    job_done(job);
}

enum problem job_of_call(struct call *call, struct job_row **out)
{
    struct job_row *job = arena_array(&call->arena, 1, sizeof *job);
    *out = job;
    enum db_status status = jobs_find(call->db, call_parameter(call, "id"), job);
    if (status == DB_OK)
        call_defer(call, free_job, job);
    if (status == DB_NONE || (status == DB_OK && !call_owns(call, job->owner)))
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such job.");
    return call_db(call, status);
}

static enum problem reply_job(struct call *call, const struct job_row *job)
{
    struct job_wait wait;
    enum db_status status = jobs_wait(call->db, job->id, &wait);
    if (status != DB_OK)
        return call_db(call, status);
    if (!job_is_over(job))
        call_header(call, "Retry-After", "1");
    json_t *json = job_json(call->db, job, &wait, call->now_ms);
    return call_reply_json(call, 200, project_add(call, json, job->owner));
}

enum problem api_jobs_get(struct call *call)
{
    struct job_row *job;
    enum problem problem = job_of_call(call, &job);
    if (problem != PROBLEM_NONE)
        return problem;
    return reply_job(call, job);
}

struct jobs_page {
    struct page page;
    json_t *queued; /* "progress" of the queued ones, by id */
};

static bool list_one(void *context, const struct job_row *job)
{
    struct jobs_page *jobs = context;
    struct call *call = jobs->page.call;
    const struct job_wait unknown = {0};
    json_t *json = job_json(call->db, job, &unknown, call->now_ms);
    if (job->state == JOB_QUEUED)
        json_object_set(jobs->queued, job->id, json_object_get(json, "progress"));
    return page_add(&jobs->page, project_add(call, json, job->owner), job->created_ms, job->id);
}

static void show_wait_in_page(void *context, const char *id, const struct job_wait *wait)
{
    json_t *progress = json_object_get(context, id);
    if (progress)
        job_wait_show(progress, wait);
}

static enum problem read_state_counts(struct call *call, bool *out)
{
    const char *counts = call_query(call, "counts");
    *out = counts && strcmp(counts, "true") == 0;
    if (counts && !*out && strcmp(counts, "false") != 0)
        return call_invalid_query(call, "counts", "must be true or false");
    return PROBLEM_NONE;
}

/* Adds how many jobs are in each state, of all that the list goes through without its filters. */
static enum db_status count_states(struct page *page)
{
    int64_t counts[JOB_STATES];
    enum db_status status = jobs_count(page->call->db, page_owner(page), counts);
    if (status != DB_OK)
        return status;
    json_t *json = json_object();
    for (int state = 0; state < JOB_STATES; state++)
        json_object_set_new(json, job_state_name((enum job_state)state),
                            json_integer((json_int_t)counts[state]));
    page_counts(page, json);
    return DB_OK;
}

enum problem api_jobs_list(struct call *call)
{
    struct jobs_page jobs;
    struct page *page = &jobs.page;
    enum problem problem = page_read(call, page);
    if (problem != PROBLEM_NONE)
        return problem;
    enum job_state state;
    const char *named = call_query(call, "state");
    if (named && !job_state_named(named, &state)) {
        return call_invalid_query(call, "state",
                                  "must be queued, running, succeeded, failed or cancelled");
    }
    struct job_filter filter = {.owner = page_owner(page),
                                .algorithm = call_query(call, "algorithm")};
    if (named)
        filter.state = &state;
    bool counted = false;
    if ((problem = read_state_counts(call, &counted)) != PROBLEM_NONE)
        return problem;
    jobs.queued = call_own(call, json_object());
    enum db_status status = jobs_list(call->db, &filter, &page->rows, list_one, &jobs);
    if (status == DB_OK && json_object_size(jobs.queued) > 0)
        status = jobs_waits(call->db, show_wait_in_page, jobs.queued);
    if (status == DB_OK && counted)
        status = count_states(page);
    return page_end(page, status);
}

/* ---- cancelling */

/* Frees everything that is held for a job that never started. */
static enum problem release_hold(struct call *call, const struct job_row *job)
{
    if (job->account[0] == '\0')
        return PROBLEM_NONE;
    const struct ledger_charge charge = {.client = call->caller.id,
                                         .resource = job->id,
                                         .event = "{\"type\":\"NoOpDpEvent\"}",
                                         .now_ms = call->now_ms};
    struct ledger_outcome outcome;
    enum db_status status = ledger_settle(call->db, &charge, &outcome);
    if (status != DB_OK)
        return call_db(call, status);
    if (outcome.verdict != LEDGER_OK)
        return refusal_make(call, &outcome, NULL);
    return PROBLEM_NONE;
}

enum problem api_jobs_cancel(struct call *call)
{
    struct job_row *job;
    enum problem problem = job_of_call(call, &job);
    if (problem != PROBLEM_NONE)
        return problem;
    enum job_cancel verdict = JOB_CANCEL_UNKNOWN;
    enum db_status status = jobs_cancel(call->db, job->id, call->now_ms, &verdict);
    if (status != DB_OK)
        return call_db(call, status);
    switch (verdict) {
    case JOB_CANCEL_DONE: problem = release_hold(call, job); break;
    case JOB_CANCEL_REQUESTED: break;
    case JOB_CANCEL_TOO_LATE:
        return call_problem(call, PROBLEM_JOB_NOT_CANCELLABLE, "The job has ended: %s.",
                            job_state_name(job->state));
    case JOB_CANCEL_UNKNOWN: return call_problem(call, PROBLEM_NOT_FOUND, "There is no such job.");
    }
    if (problem != PROBLEM_NONE)
        return problem;
    struct job_row *now;
    problem = job_of_call(call, &now);
    if (problem != PROBLEM_NONE)
        return problem;
    return reply_job(call, now);
}
