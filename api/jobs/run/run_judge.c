/* Judges a policy on a public dataset, and shows what was found. */
#include "api/jobs/run/job_run.h"

#include "api/json/json_text.h"

#define JUDGE_SEED UINT64_C(20261121)

static bool judge_may_go_on(void *context)
{
    return job_run_goes_on(context);
}

struct judge_pulse job_judge_pulse(struct job_run *run)
{
    return (struct judge_pulse){.goes_on = judge_may_go_on, .context = run};
}

bool job_judge_unread(struct job_run *run)
{
    if (job_run_held_up(run) != ALGORITHM_OK)
        return false;
    run->judged = true;
    run->unjudged = "the judge's dataset is gone or damaged";
    return true;
}

bool job_judge(struct job_run *run, const struct policy *policy)
{
    if (run->plan.request.judge.held_out > 0.0)
        return job_judge_held_out(run, policy);
    const struct fitted_q_settings settings = fitted_q_defaults();
    const struct judge_pulse pulse = job_judge_pulse(run);
    struct dataset *data = job_run_load_other(run, run->plan.judge);
    if (!data)
        return job_judge_unread(run);
    enum algorithm_status status =
        judge_measure(&settings, policy, data, run->plan.judge_discount, JUDGE_SEED, &pulse,
                      &run->judgement, &run->unjudged);
    dataset_free(data);
    run->judged = status == ALGORITHM_OK || status == ALGORITHM_BAD_INPUT;
    if (status == ALGORITHM_OK)
        run->unjudged = NULL;
    run->waiting = run->waiting || status == ALGORITHM_NO_MEMORY;
    return job_run_held_up(run) == ALGORITHM_OK;
}

json_t *job_judge_interval_json(const struct judge_interval *interval)
{
    return json_pack("{s:o, s:o, s:o}", "value", json_number(interval->value), "low",
                     json_number(interval->low), "high", json_number(interval->high));
}

/* The overlap of the policy with the data, and their size. */
static void judge_show_data(const struct judge_figures *f, json_t *object)
{
    json_object_set_new(object, "unit", json_string(f->by_expert ? "expert" : "trajectory"));
    json_object_set_new(object, "units", json_integer(f->units));
    json_object_set_new(object, "horizon", json_integer(f->horizon));
    json_object_set_new(object, "logged",
                        json_pack("{s:o, s:o}", "lowest", json_number(f->lowest), "highest",
                                  json_number(f->highest)));
    json_object_set_new(object, "overlap",
                        json_pack("{s:o, s:o, s:f}", "effective_sample_size",
                                  json_number(f->effective), "actions_tried", json_number(f->tried),
                                  "tried_probability", JUDGE_TRIED));
}

static void judge_show_estimates(const struct judge_figures *f, json_t *object)
{
    json_object_set_new(object, "confidence", json_real(JUDGE_CONFIDENCE));
    json_object_set_new(object, "behaviour", job_judge_interval_json(&f->behaviour));
    json_object_set_new(object, "fitted_q", job_judge_interval_json(&f->fitted));
    json_object_set_new(object, "importance_sampling", job_judge_interval_json(&f->sampling));
    json_object_set_new(object, "doubly_robust", job_judge_interval_json(&f->robust));
    json_object_set_new(object, "bounds",
                        json_pack("{s:o, s:o}", "low", json_number(f->bound_low), "high",
                                  json_number(f->bound_high)));
}

static void judge_show_verdict(const struct judge_verdict *verdict, json_t *object)
{
    json_t *reasons = json_array();
    for (unsigned i = 0; i < verdict->reason_count; i++)
        json_array_append_new(reasons, json_string(verdict->reason[i]));
    json_object_set_new(object, "verdict", json_string(judge_verdict_name(verdict->verdict)));
    json_object_set_new(object, "reasons", reasons);
    json_object_set_new(object, "value",
                        json_pack("{s:o, s:o}", "low", json_number(verdict->low), "high",
                                  json_number(verdict->high)));
    json_object_set_new(object, "outside_logged_range", json_boolean(verdict->outside));
}

void job_judge_show(const struct job_run *run, json_t *object)
{
    if (!run->judged)
        return;
    if (run->plan.request.judge.held_out > 0.0 && !run->unjudged) {
        json_object_set_new(object, "judge", job_judge_held_out_json(run));
        return;
    }
    json_t *judge = json_object();
    json_object_set_new(object, "judge", judge);
    if (run->unjudged) {
        json_object_set_new(judge, "verdict", json_string("not_supported"));
        json_object_set_new(judge, "reasons", json_pack("[s]", run->unjudged));
        return;
    }
    const struct judge_figures *found = &run->judgement;
    const struct judge_verdict verdict = judge_decide(found);
    judge_show_verdict(&verdict, judge);
    judge_show_estimates(found, judge);
    judge_show_data(found, judge);
    json_object_set_new(object, "fitted_q_value", json_number(found->fitted.value));
    json_object_set_new(object, "fitted_q_standard_error", json_number(found->fitted_error));
    json_object_set_new(object, "fitted_q_residual", json_number(found->fitted_residual));
    json_object_set_new(object, "fitted_q_starts", json_integer((json_int_t)found->trajectories));
}
