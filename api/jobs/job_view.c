/* Jobs as JSON. */
#include "api/jobs/job_view.h"

#include <stdio.h>

#include "api/call/budget.h"
#include "api/jobs/ask/job_choose.h"
#include "api/jobs/ask/job_plan.h"
#include "api/jobs/ask/job_shards.h"
#include "api/jobs/ask/job_sweep.h"
#include "api/jobs/ask/job_teacher.h"
#include "api/jobs/run/run_shards.h"
#include "api/jobs/run/run_sweep.h"
#include "api/jobs/run/run_teacher.h"
#include "api/json/json_text.h"
#include "api/wire/q_terms_json.h"

bool job_is_over(const struct job_row *job)
{
    return job->state != JOB_QUEUED && job->state != JOB_RUNNING;
}

static json_t *progress_json(const struct job_row *job, int64_t queue_place, int64_t now_ms)
{
    double steps = (double)job->total_steps, step = (double)job->step;
    json_t *eta = json_null();
    if (job->state == JOB_RUNNING && job->step > 0 && now_ms > job->started_ms) {
        double seconds = (double)(now_ms - job->started_ms) / 1000;
        eta = json_number(seconds / step * (steps - step));
    }
    json_t *place = queue_place > 0 ? json_integer(queue_place) : json_null();
    json_t *json = json_pack("{s:I, s:I, s:o, s:o, s:o}", "step", (json_int_t)job->step, "steps",
                             (json_int_t)job->total_steps, "fraction",
                             json_number(steps > 0 ? step / steps : 0), "eta_seconds", eta,
                             "queue_place", place);
    if (job->has_shown_return)
        json_member_add(&json, "mean_return", json_number(job->shown_return));
    return json;
}

/* Of a job that asks a teacher: what its answers have added to the payer's account. */
static json_t *answers_json(const struct job_row *job, const struct job_plan *plan)
{
    struct job_teacher_spent spent;
    if (!job_teacher_spent_of(job->findings, &spent))
        return NULL;
    return json_pack("{s:s, s:o, s:o, s:o}", "unit", job_plan_unit(plan), "requested", json_null(),
                     "reserved", budget_amount(0, 0), "spent",
                     budget_amount(spent.epsilon, spent.delta));
}

/* Requested is what was asked for, reserved what is held now on an account, spent what it has cost
 * (where there is no account: those whose episodes are thought of). */
static json_t *privacy_json(const struct job_row *job, const struct job_plan *plan)
{
    if (plan->request.mechanism == MECHANISM_NONE)
        return json_null();
    if (plan->teacher[0] != '\0')
        return answers_json(job, plan);
    bool over = job_is_over(job), holds = !over && job->account[0] != '\0';
    double held = !holds ? 0 : ledger_units_value(job->hold_units);
    double held_delta = !holds ? 0 : ledger_delta_value(job->hold_delta);
    double spent = job->epsilon_spent;
    /* Steps that cost less epsilon than can be told from 0 still cost delta. */
    bool paid = over && (spent > 0 || job->step > 0);
    return json_pack("{s:s, s:o, s:o, s:o}", "unit", job_plan_unit(plan), "requested",
                     budget_amount(plan->request.epsilon, plan->request.delta), "reserved",
                     budget_amount(held, held_delta), "spent",
                     budget_amount(spent, paid ? plan->request.delta : 0));
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

static json_t *notes_json(const struct job_plan *plan)
{
    json_t *notes = json_array();
    if (plan->algorithm->gives_findings) {
        json_list_add(&notes, json_string("From made-up data: nobody's take part."));
    } else if (plan->algorithm->plays_given) {
        json_list_add(&notes, json_string("Played what may leave already: nothing is "
                                          "charged for it."));
    } else if (plan->teacher[0] != '\0') {
        json_list_add(&notes,
                      json_string("Each answer of the teacher is paid for when it is given, "
                                  "by the client's, the teacher's and perhaps a dataset's "
                                  "account; when they cannot pay the student goes on "
                                  "alone. Its policy and its returns tell no more than "
                                  "the answers did."));
    } else if (plan->algorithm->result_is_public && plan->request.mechanism != MECHANISM_NONE) {
        json_list_add(&notes, json_string("Its episodes were simulated here and no account is "
                                          "debited: epsilon is what such a run costs people whose "
                                          "episodes they stand for."));
    } else if (plan->algorithm->result_is_public) {
        json_list_add(&notes, json_string("Learned in a simulator, from nobody's data: the policy "
                                          "is released without a guarantee and needs none."));
    }
    if (plan->judge[0] != '\0') {
        json_list_add(
            &notes, json_sprintf("fitted_q_value is an estimate from the public dataset %s, by "
                                 "fitted Q evaluation, and no return of play: a discounted value, "
                                 "which may be far off where the policy does what those data "
                                 "hardly hold.",
                                 plan->judge));
    }
    if (plan->shards > 0) {
        json_list_add(&notes, json_string(job_shards_note));
    } else if (!job_plan_releases(plan)) {
        json_list_add(&notes, json_string("Trained without privacy on private data: the policy "
                                          "stays inside the service, to be asked as a teacher."));
        if (plan->evaluate.name[0] != '\0') {
            json_list_add(&notes, json_string("Its evaluation is withheld: a return is a number "
                                              "that depends on the data."));
        }
    }
    return notes;
}

static json_t *findings_json(const struct job_row *job)
{
    if (job->findings[0] == '\0')
        return json_null();
    return json_text_stored(job->findings);
}

/* A job whose plan another version of this program wrote: what became of it is known all the same.
 */
static json_t *outcome_json(const struct job_row *job, int64_t queue_place, int64_t now_ms)
{
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:n, s:n, s:n, s:o, s:o, s:n, s:o, s:o, s:o, s:[s], "
        "s:b, s:o, s:o, s:o, s:n, s:n, s:n}",
        "id", job->id, "algorithm", job->algorithm, "mechanism", job->mechanism, "dataset",
        json_text_or_null(job->dataset), "environment", json_text_or_null(job->environment),
        "state", job_state_name(job->state), "progress", progress_json(job, queue_place, now_ms),
        "privacy", "parameters", "sweep", "policy", json_text_or_null(job->policy), "q_release",
        json_text_or_null(job->q_release), "release", "evaluation", evaluation_json(job),
        "findings", findings_json(job), "error", error_json(job), "notes",
        "What it was asked for with cannot be read by this version of the service; the ledger has "
        "what it has cost.",
        "cancel_requested", (int)job->cancel_requested, "created_at", json_time(job->created_ms),
        "started_at", json_time(job->started_ms), "finished_at", json_time(job->finished_ms),
        "shards", "teacher", "choose");
}

json_t *job_json(const struct job_row *job, int64_t queue_place, int64_t now_ms)
{
    struct job_plan plan;
    bool starved = false;
    if (!job_plan_read(job->plan, &plan, &starved))
        return starved ? NULL : outcome_json(job, queue_place, now_ms);
    bool played = plan.algorithm->plays_given;
    json_t *sweep = job_sweep_json(&plan);
    json_t *release =
        plan.algorithm->gives_q_release ? q_terms_json(&plan.plan.release) : json_null();
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:b, s:o, s:o, s:o, s:o, s:o, s:o}",
        "id", job->id, "algorithm", job->algorithm, "mechanism", job->mechanism, "dataset",
        json_text_or_null(job->dataset), "environment", json_text_or_null(job->environment),
        "state", job_state_name(job->state), "progress", progress_json(job, queue_place, now_ms),
        "privacy", privacy_json(job, &plan), "parameters", job_plan_parameters(&plan), "sweep",
        sweep, "policy", json_text_or_null(played ? plan.policy : job->policy), "q_release",
        json_text_or_null(played ? plan.q_release : job->q_release), "release", release,
        "evaluation", evaluation_json(job), "findings", findings_json(job), "error",
        error_json(job), "notes", notes_json(&plan), "cancel_requested", (int)job->cancel_requested,
        "created_at", json_time(job->created_ms), "started_at", json_time(job->started_ms),
        "finished_at", json_time(job->finished_ms), "shards",
        plan.shards > 0 ? json_integer(plan.shards) : json_null(), "teacher",
        job_teacher_json(&plan), "choose",
        plan.request.choice.candidates > 0 ? job_choose_json(&plan) : json_null());
    job_plan_clear(&plan);
    return json;
}
