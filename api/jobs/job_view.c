/* Jobs as JSON. */
#include "api/jobs/jobs.h"

#include <stdio.h>

#include "algos/offline/schedule.h"
#include "api/call/budget.h"
#include "api/call/names.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/jobs/run/job_run.h"
#include "api/json/json_member.h"
#include "api/json/json_text.h"
#include "api/wire/q_terms_json.h"

bool job_is_over(const struct job_row *job)
{
    return job->state != JOB_QUEUED && job->state != JOB_RUNNING;
}

static json_t *json_count_or_null(int64_t count)
{
    if (count <= 0)
        return json_null();
    return json_integer(count);
}

void job_wait_show(json_t *progress, const struct job_wait *wait)
{
    json_t *own = json_null();
    if (wait->place > 0)
        own = json_integer(wait->own);
    json_object_set_new(progress, "queue_place", json_count_or_null(wait->place));
    json_object_set_new(progress, "queue_own", own);
}

static json_t *progress_json(const struct job_row *job, const struct job_wait *wait, int64_t now_ms)
{
    double steps = (double)job->total_steps, step = (double)job->step;
    json_t *eta = json_null();
    if (job->state == JOB_RUNNING && job->step > 0 && now_ms > job->started_ms) {
        double seconds = (double)(now_ms - job->started_ms) / 1000;
        eta = json_number(seconds / step * (steps - step));
    }
    double fraction = 0;
    if (steps > 0)
        fraction = step / steps;
    json_t *json = json_pack("{s:I, s:I, s:o, s:o}", "step", (json_int_t)job->step, "steps",
                             (json_int_t)job->total_steps, "fraction", json_number(fraction),
                             "eta_seconds", eta);
    job_wait_show(json, wait);
    if (job->has_shown_return)
        json_member_add(&json, "mean_return", json_number(job->shown_return));
    return json;
}

/* What the answers to a job's questions have added to the payer's account. */
static json_t *answers_json(const struct job_row *job, const struct job_plan *plan)
{
    const struct job_teacher_spent spent = job_teacher_spent_of(job->findings);
    return json_pack("{s:s, s:o, s:o, s:o}", "unit", job_plan_unit(plan), "requested", json_null(),
                     "reserved", budget_amount(0, 0), "spent",
                     budget_amount(spent.epsilon, spent.delta));
}

/* The members "requested", "reserved" (held on an account now) and "spent". Without an account,
 * "spent" is the cost to those whose episodes the job protects. */
static json_t *job_privacy_json(const struct job_row *job, const struct job_plan *plan)
{
    if (plan->request.mechanism == MECHANISM_NONE)
        return json_null();
    if (plan->teacher[0] != '\0')
        return answers_json(job, plan);
    double held = 0, held_delta = 0, spent = job->epsilon_spent, spent_delta = 0;
    if (!job_is_over(job) && job->account[0] != '\0') {
        held = ledger_units_value(job->hold_units);
        held_delta = ledger_delta_value(job->hold_delta);
    }
    /* Steps that cost less epsilon than can be told from 0 still cost delta. */
    if (job_is_over(job) && (spent > 0 || job->step > 0) && plan->rehearsal.runs == 0)
        spent_delta = plan->request.delta;
    return json_pack("{s:s, s:o, s:o, s:o}", "unit", job_plan_unit(plan), "requested",
                     budget_amount(plan->request.epsilon, plan->request.delta), "reserved",
                     budget_amount(held, held_delta), "spent", budget_amount(spent, spent_delta));
}

/* What a job that is over has paid from its dataset's account; null without one. A cancelled job of
 * which no noisy step ran pays no delta. */
static json_t *paid_json(const struct job_row *job, const struct job_plan *plan)
{
    if (!job_is_over(job) || job->account[0] == '\0')
        return json_null();
    const struct schedule schedule = {plan->request.seed, plan->request.plain_share};
    double delta = 0;
    if (job->epsilon_spent > 0 || schedule_noisy_steps(&schedule, (uint64_t)job->step) > 0)
        delta = ledger_delta_value(job->hold_delta);
    return budget_amount(job->epsilon_spent, delta);
}

/* Why a cancelled job has paid that; null for other jobs, and of earlier versions. One that a
 * restore has ended may have run after the backup, in whose queue it was. */
static json_t *why_json(const struct job_row *job)
{
    if (job->state != JOB_CANCELLED || job->account[0] == '\0')
        return json_null();
    if (job->started_ms == 0 && job->problem_detail[0] == '\0')
        return json_string("It was cancelled in the queue: no step had run, so it pays nothing.");
    return json_text_or_null(job->problem_detail);
}

static json_t *evaluation_json(const struct job_row *job)
{
    if (!job->has_evaluation)
        return json_null();
    return json_pack("{s:o, s:o, s:I}", "mean_return", json_number(job->mean_return), "std_return",
                     json_number(job->std_return), "episodes", (json_int_t)job->episodes);
}

static json_t *error_json(const struct job_row *job)
{
    enum problem problem = problem_find(job->problem_slug);
    if (job->problem_slug[0] == '\0' || problem == PROBLEM_NONE)
        return json_null();
    const struct problem_info *info = problem_info(problem);
    char type[80];
    snprintf(type, sizeof type, "/problems/%s", info->slug);
    return json_pack("{s:s, s:s, s:i, s:s}", "type", type, "title", info->title, "status",
                     info->status, "detail", job->problem_detail);
}

static const char first_stage_note[] =
    "Its first stage comes before step 1: it clones the experts that sent no network, and releases "
    "prefixes or labels. How far that is would tell how many experts there are and how much they "
    "did, so the step stays 0 until the training begins.";

static json_t *notes_json(const struct job_plan *plan)
{
    json_t *notes = json_array();
    const struct job_kind *kind = job_kind(plan->algorithm);
    if (kind->note)
        json_array_append_new(notes, json_string(kind->note(plan)));
    if (plan->rehearsal.runs > 0)
        json_array_append_new(notes, json_string(job_rehearsal_note));
    if (plan->request.stage.kind != STAGE_NONE)
        json_array_append_new(notes, json_string(first_stage_note));
    if (plan->judge[0] != '\0') {
        json_array_append_new(
            notes,
            json_sprintf("What the judge says is an estimate from the public dataset %s, and "
                         "no return of play: its verdict and its reasons say what it is "
                         "worth. The value (fitted_q_value) alone may be far off where the "
                         "policy does what those data hardly hold.",
                         plan->judge));
    }
    if (plan->request.judge.held_out > 0.0) {
        json_array_append_new(
            notes,
            json_string("What the judge says is what held-out experts of the dataset say "
                        "under noise: the training did not read them, and a part of the price "
                        "pays for it. It is no return of play."));
    }
    if (plan->audit[0] != '\0') {
        json_array_append_new(
            notes, json_sprintf("The certificate shows the result of audit %s, for which nothing "
                                "is charged.",
                                plan->audit));
    }
    if (plan->shards > 0) {
        json_array_append_new(notes, json_string(job_shards_note));
    } else if (!job_plan_releases(plan)) {
        json_array_append_new(notes,
                              json_string("Trained without privacy on private data: the policy "
                                          "stays inside the service, to be asked as a teacher. "
                                          "Its progress is not shown, and its end only when the "
                                          "seconds since its start are a power of two."));
    }
    return notes;
}

static json_t *findings_json(const struct job_row *job)
{
    if (job->findings[0] == '\0')
        return json_null();
    return json_text_stored(job->findings);
}

/* Who judges the policy when it is trained; null: nobody does. */
static json_t *judges_json(const struct job_plan *plan)
{
    if (plan->judge[0] != '\0')
        return json_pack("{s:s}", "dataset", plan->judge);
    if (plan->request.judge.held_out > 0.0)
        return json_pack("{s:o}", "held_out", json_number(plan->request.judge.held_out));
    return json_null();
}

/* Adds to OUT what only the plan tells. */
static void show_plan(const struct job_row *job, const struct job_plan *plan, json_t *out)
{
    json_object_set_new(out, "privacy", job_privacy_json(job, plan));
    json_object_set_new(out, "paid", paid_json(job, plan));
    json_object_set_new(out, "parameters", job_plan_parameters(plan));
    json_object_set_new(out, "sweep", job_sweep_json(plan));
    if (plan->policy[0] != '\0') /* what is played */
        json_object_set_new(out, "policy", json_string(plan->policy));
    if (plan->q_release[0] != '\0')
        json_object_set_new(out, "q_release", json_string(plan->q_release));
    if (plan->request.mechanism == MECHANISM_GAUSSIAN_PROCESS)
        json_object_set_new(out, "release", q_terms_json(&plan->plan.release));
    json_object_set_new(out, "features", json_text_or_null(plan->features_job));
    json_object_set_new(out, "notes", notes_json(plan));
    json_object_set_new(out, "rehearse", json_boolean(plan->rehearsal.runs > 0));
    json_object_set_new(out, "judge", judges_json(plan));
    json_object_set_new(out, "shards", json_count_or_null(plan->shards));
    json_object_set_new(out, "teacher", job_teacher_json(plan));
    if (plan->request.choice.candidates > 0)
        json_object_set_new(out, "choose", job_choose_json(plan));
}

static json_t *job_bare_json(const struct job_row *job, const struct job_wait *wait, int64_t now_ms)
{
    struct job_plan plan;
    /* These members need no plan, which another version of this program may have written. */
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:n, s:n, s:n, s:o, s:o, s:n, s:o, s:o, s:o, s:[s], "
        "s:b, s:o, s:o, s:o, s:n, s:n, s:n}",
        "id", job->id, "algorithm", job->algorithm, "mechanism", job->mechanism, "dataset",
        json_text_or_null(job->dataset), "environment", json_text_or_null(job->environment),
        "state", job_state_name(job->state), "progress", progress_json(job, wait, now_ms),
        "privacy", "parameters", "sweep", "policy", json_text_or_null(job->policy), "q_release",
        json_text_or_null(job->q_release), "release", "evaluation", evaluation_json(job),
        "findings", findings_json(job), "error", error_json(job), "notes",
        "This version of the service cannot read the job's request. Its cost is in the ledger.",
        "cancel_requested", (int)job->cancel_requested, "created_at", json_time(job->created_ms),
        "started_at", json_time(job->started_ms), "finished_at", json_time(job->finished_ms),
        "shards", "teacher", "choose");
    json_object_set_new(json, "features", json_null());
    json_object_set_new(json, "rehearse", json_null());
    json_object_set_new(json, "judge", json_null());
    json_object_set_new(json, "paid", json_null());
    json_object_set_new(json, "why", why_json(job));
    if (job_plan_read(job->plan, &plan)) {
        show_plan(job, &plan, json);
        job_plan_clear(&plan);
    }
    return json;
}

json_t *job_json(struct db *db, const struct job_row *job, const struct job_wait *wait,
                 int64_t now_ms)
{
    json_t *json = job_bare_json(job, wait, now_ms);
    const char *policy = json_member_text(json, "policy"), *dataset = job->dataset;
    json_t *request = json_text_stored(job->request);
    if (json_is_true(json_object_get(json, "rehearse"))) /* its row has no dataset */
        dataset = json_member_text(request, "dataset");
    bool named = names_add(db, json, "dataset_name", dataset) == DB_OK &&
                 names_add(db, json, "policy_name", policy) == DB_OK;
    json_decref(request);
    if (named)
        return json;
    json_decref(json);
    return NULL;
}
