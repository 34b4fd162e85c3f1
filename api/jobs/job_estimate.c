/* Estimates the cost of a job. The job is planned like a real one, but neither stored nor charged.
 */
#include "api/jobs/jobs.h"

#include <math.h>
#include <stdlib.h>

#include "api/call/budget.h"
#include "api/call/budget_price.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_advice.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/job_request.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger.h"

/* Why ACCOUNT could not pay the price now; NULL: it could. */
static const char *cannot_pay(struct call *call, const struct ledger_account *account,
                              const struct job_plan *plan)
{
    const struct dp_sgd_plan *privacy = &plan->plan.privacy;
    struct ledger_price price;
    char *event = job_plan_event(plan, privacy->steps, true);
    const struct budget_plan whole = {privacy->epsilon, privacy->delta, event};
    bool counted = budget_plan_price(account, &whole, &price);
    free(event);
    int64_t delta = account->limit_delta - account->spent_delta - account->held_delta;
    if (!counted || price.units > account->limit_units - account->spent_units - account->held_units)
        return "the dataset's budget cannot pay for it";
    if (price.delta_units <= delta)
        return NULL;
    return arena_format(&call->arena,
                        "the dataset's budget cannot pay for it: its epsilon would be enough, but "
                        "the job takes delta %.12g and only delta %.12g is left%s",
                        ledger_delta_value(price.delta_units), ledger_delta_value(delta),
                        account->renyi_order > 0 ? " of what is set aside for deltas" : "");
}

static json_t *time_json(const struct job_time *time)
{
    if (time->unknown)
        return json_null();
    return json_pack("{s:o, s:s}", "seconds", json_number(round(time->seconds * 100) / 100),
                     "basis",
                     "seconds of one core of a machine like that of docs/performance.md, without "
                     "the queue: counted from what the dataset holds and the plan computes");
}

/* ACCOUNT is the dataset's; all zero where it has none. */
static json_t *estimate_plan(const struct job_wish *wish, const struct ledger_account *account)
{
    const struct algorithm_plan *plan = &wish->plan.plan;
    json_t *json;
    if (wish->plan.request.mechanism != MECHANISM_NONE)
        json = job_plan_privacy(&wish->plan);
    else
        json = json_pack("{s:I}", "steps", (json_int_t)plan->total_steps);
    json_object_set_new(json, "total_steps", json_integer((json_int_t)plan->total_steps));
    json_object_set_new(json, "parameter_count", json_integer((json_int_t)plan->parameter_count));
    if (wish->plan.shards > 0) {
        json_t *left = budget_remaining(account);
        json_t *teaching =
            job_shards_estimate(&wish->plan, json_number_value(json_object_get(left, "epsilon")),
                                json_number_value(json_object_get(left, "delta")));
        json_object_update(json, teaching);
        json_decref(teaching);
        json_decref(left);
    }
    return json;
}

/* PLAN is its JSON, UNPAID why the budget cannot pay (NULL: it can). With shards a reason may stand
 * beside "feasible": the training costs nothing. */
static const char *why_not(const struct job_wish *wish, const json_t *plan, bool drowns,
                           const char *unpaid)
{
    if (!wish->feasible)
        return wish->why_not;
    bool charged = wish->dataset.account[0] != '\0';
    if (charged && wish->plan.shards > 0 &&
        json_array_size(json_object_get(plan, "teaching")) == 0) {
        return "it can be trained, but the dataset's budget is spent: no answer of a teacher could "
               "be paid";
    }
    if (drowns) {
        return "the noise exceeds the range of the values (see plan/release/noise_to_range): use "
               "more shards; or, with unit reward, raise value_limit (with features: radius) "
               "together with reward_scale; or set privacy/force";
    }
    return unpaid;
}

/* Adds to OUT what the dataset would say of its cover once the job is accepted. */
static void show_cover(const struct job_wish *wish, json_t *out)
{
    struct dataset_row then = wish->dataset;
    const char *uncovered = NULL;
    then.uncovered = then.uncovered || job_plan_uncovers(&wish->plan);
    if (then.id[0] != '\0' && then.uncovered)
        uncovered = dataset_uncovered_note;
    json_object_set_new(out, "covered", dataset_covered_json(then.id[0] != '\0' ? &then : NULL));
    json_object_set_new(out, "uncovered", json_text_or_null(uncovered));
}

/* Adds to OUT what the plan is likely to be worth, and of a plan that would be refused what would
 * be enough, which takes further plans. */
static void show_advice(const struct job_wish *wish, json_t *out)
{
    struct job_advice advice;
    struct job_enough enough;
    json_t *json = json_null();
    if (job_advice_look(wish, &advice)) {
        bool refused = job_advice_refuses(wish, &advice);
        if (refused)
            job_advice_enough(&advice, &enough);
        json = job_advice_json(&advice, refused ? &enough : NULL);
        json_object_set_new(json, "enough", refused ? job_enough_json(&enough) : json_null());
        json_object_set_new(json, "refused", json_boolean(refused));
    }
    json_object_set_new(out, "advice", json);
}

/* Adds to OUT that held-out experts would be too few for their noise; a warning about the budget
 * stays. */
static void show_judge(const struct job_wish *wish, json_t *out)
{
    char unclear[JOB_JUDGE_WARNING_SIZE];
    json_t *warning = json_object_get(out, "warning");
    const char *detail = json_string_value(json_object_get(warning, "detail"));
    if (!wish->feasible || !job_judge_unclear(&wish->plan, unclear))
        return;
    if (detail)
        json_object_set_new(warning, "detail", json_sprintf("%s %s", detail, unclear));
    else
        json_object_set_new(out, "warning", json_pack("{s:s}", "detail", unclear));
}

enum problem api_jobs_estimate(struct call *call)
{
    const struct job_wish *wish = call->plan;
    const struct dp_sgd_plan *privacy = &wish->plan.plan.privacy;
    bool private = wish->plan.request.mechanism != MECHANISM_NONE && wish->plan.rehearsal.runs == 0;
    struct job_time time;
    enum db_status timed = job_time_estimate(call, wish, &time);
    if (timed != DB_OK)
        return call_db(call, timed);
    struct description *description = NULL;
    enum problem described = dataset_describe(call, wish->dataset.id, &description);
    if (described != PROBLEM_NONE)
        return described;
    const char *unpaid = NULL;
    bool sharded = wish->plan.shards > 0;
    struct ledger_account account = {.epsilon = 0};
    json_t *accounts = json_array();
    if ((private || sharded) && wish->dataset.account[0] != '\0') {
        enum db_status status = ledger_find(call->db, wish->dataset.account, &account);
        if (status != DB_OK) {
            json_decref(accounts);
            return call_db(call, status);
        }
        json_list_add(&accounts, budget_json(&account));
        if (!sharded && wish->feasible)
            unpaid = cannot_pay(call, &account, &wish->plan);
    }
    json_t *cost = json_null(), *asking = json_null(), *plan = json_null();
    if (wish->feasible && wish->plan.teacher[0] != '\0') {
        enum problem problem = job_teacher_estimate(call, &wish->plan, accounts, &cost, &asking);
        if (problem != PROBLEM_NONE) {
            json_decref(accounts);
            return problem;
        }
    } else if (wish->feasible && private) {
        cost = budget_amount(privacy->epsilon, privacy->delta);
    } else if (wish->feasible) {
        cost = budget_amount(0, 0);
    }
    bool drowns = wish->feasible && job_plan_drowns(&wish->plan);
    if (wish->feasible)
        plan = estimate_plan(wish, &account);
    const char *reason = why_not(wish, plan, drowns, unpaid);
    json_t *json =
        json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "feasible",
                  (int)(wish->feasible && !drowns && !unpaid), "reason", json_text_or_null(reason),
                  "cost", cost, "plan", plan, "accounts", accounts, "running_time",
                  time_json(&time), "running_time_unknown", json_text_or_null(time.unknown),
                  "parameters", job_plan_parameters(&wish->plan), "asking", asking);
    const struct ledger_account none = {.epsilon = 0};
    job_leaves_show(wish->feasible && private && !sharded ? &account : &none, &wish->plan, json);
    show_judge(wish, json);
    json_object_set_new(json, "grid_spacing",
                        job_stage_grid_spacing(call, &wish->plan.request.stage.grid, description));
    json_object_set_new(json, "grid_warnings",
                        job_stage_grid_warnings(&wish->plan.request.stage.grid, description));
    json_object_set_new(json, "least", job_least_json(wish));
    show_cover(wish, json);
    show_advice(wish, json);
    return call_reply_json(call, 200, json);
}
