/* What a job would cost: planned like a real one, never stored, never charged. */
#include "api/jobs.h"

#include <math.h>
#include <string.h>

#include "api/budget.h"
#include "api/job_release.h"
#include "api/job_request.h"
#include "api/job_shards.h"
#include "api/job_teacher.h"
#include "api/json_text.h"
#include "storage/ledger.h"

/* True when ACCOUNT could pay the price now. */
static bool can_pay(const struct ledger_account *account, const struct dp_sgd_plan *privacy)
{
    int64_t units, delta_units;
    return ledger_units_up(privacy->epsilon, &units) &&
           ledger_delta_up(privacy->delta, &delta_units) &&
           units <= account->limit_units - account->spent_units - account->held_units &&
           delta_units <= account->limit_delta - account->spent_delta - account->held_delta;
}

/* Figures of docs/performance.md, for one core. */
#define STEP_SECONDS       1.5e-4 /* of a step of a small network */
#define STEP_WORK          3.5e10 /* multiply-adds a second of a large one */
#define ADDS_PER_PARAMETER 6.0    /* and example, forward and backward */
#define CLONE_SECONDS      0.05
#define CLONE_PARAMETERS   4700.0
#define ASKING_WORK        1e10 /* multiply-adds a second when all experts are asked at states */

/* The first stage, of experts who are all cloned: the worst of both where some uploaded networks of
 * that size. */
static double stage_seconds(const struct job_plan *plan)
{
    const struct stage_request *stage = &plan->request.stage;
    const struct sparse_vector_plan *stable = &plan->plan.stage.stable;
    double experts = plan->request.nominal_experts, states = 0;
    if (stage->kind == STAGE_NONE) {
        return 0;
    }
    if (stage->kind == STAGE_CONSENSUS) {
        states = stage->labels;
        if (stage->skill.power > 0) /* whole episodes, if all are as good as that */
            states += (double)stage->skill.episodes * stage->max_length;
    } else {
        /* A prefix that all agree on ends there, and a block later it is seen. */
        uint32_t length = sparse_vector_unanimous_length(stable, plan->request.action_count);
        states = stage->runs * fmin(stage->max_length, length + 16.0);
    }
    return experts * (CLONE_SECONDS + states * CLONE_PARAMETERS / ASKING_WORK);
}

/* From public sizes alone; null for algorithms that need no dataset. */
static json_t *running_time(const struct job_wish *wish)
{
    const struct job_plan *plan = &wish->plan;
    if (!wish->feasible || !plan->algorithm->needs_dataset || plan->learn.name[0] != '\0') {
        return json_null();
    }
    int batch = parameters_index(plan->algorithm->parameters, plan->algorithm->parameter_count,
                                 "batch_size");
    double rows = batch < 0 ? 0 : plan->request.parameters.value[batch].number[0];
    rows = rows > 0 ? rows : 128;
    double work = rows * (double)plan->plan.parameter_count * ADDS_PER_PARAMETER;
    double training = (double)plan->plan.total_steps * (STEP_SECONDS + work / STEP_WORK);
    return json_pack("{s:o, s:s}", "seconds", json_number(ceil(training + stage_seconds(plan))),
                     "basis",
                     "estimated from public sizes for one core of a common machine, without the "
                     "queue, the loading of data and the evaluation; experts are taken for "
                     "behaviour clones");
}

/* ACCOUNT is the dataset's; all zero where it has none. */
static json_t *plan_json(const struct job_wish *wish, const struct ledger_account *account)
{
    const struct algorithm_plan *plan = &wish->plan.plan;
    bool private = wish->plan.request.mechanism != MECHANISM_NONE;
    json_t *json = private ? job_plan_privacy(&wish->plan)
                           : json_pack("{s:I}", "steps", (json_int_t)plan->total_steps);
    if (json != NULL) {
        json_object_set_new(json, "total_steps", json_integer((json_int_t)plan->total_steps));
        json_object_set_new(json, "parameter_count",
                            json_integer((json_int_t)plan->parameter_count));
    }
    if (json != NULL && wish->plan.shards > 0) {
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

enum problem api_jobs_estimate(struct call *call)
{
    const struct job_wish *wish = call->plan;
    const struct dp_sgd_plan *privacy = &wish->plan.plan.privacy;
    bool private = wish->plan.request.mechanism != MECHANISM_NONE;
    bool pays = true, sharded = wish->plan.shards > 0;
    struct ledger_account account = {.epsilon = 0};
    json_t *accounts = json_array();
    if ((private || sharded) && wish->dataset.account[0] != '\0') {
        enum db_status status = ledger_find(call->db, wish->dataset.account, &account);
        if (status != DB_OK) {
            json_decref(accounts);
            return call_db(call, status == DB_NONE ? DB_FAILED : status);
        }
        json_array_append_new(accounts, budget_json(&account));
        pays = sharded || (wish->feasible && can_pay(&account, privacy));
    }
    json_t *asked_cost = NULL, *asking = json_null();
    if (wish->feasible && wish->plan.teacher[0] != '\0') {
        enum problem problem =
            job_teacher_estimate(call, &wish->plan, accounts, &asked_cost, &asking);
        if (problem != PROBLEM_NONE) {
            json_decref(accounts);
            return problem;
        }
    }
    bool drowns = wish->feasible && job_release_drowns(&wish->plan);
    const char *reason = !wish->feasible ? wish->why_not
                         : drowns        ? "the noise exceeds the range of the values (see "
                                           "plan/release/noise_to_range): more shards; with unit reward a "
                                           "greater value_limit (features: radius) and reward_scale with "
                                           "it; or privacy/force"
                         : !pays         ? "the dataset's budget cannot pay for it"
                                         : NULL;
    json_t *cost = asked_cost != NULL          ? asked_cost
                   : wish->feasible && private ? budget_amount(privacy->epsilon, privacy->delta)
                                               : budget_amount(0, 0);
    if (!wish->feasible) {
        json_decref(cost);
        cost = json_null();
    }
    return call_reply_json(
        call, 200,
        json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "feasible",
                  (int)(wish->feasible && !drowns && pays), "reason", json_text_or_null(reason),
                  "cost", cost, "plan", wish->feasible ? plan_json(wish, &account) : json_null(),
                  "accounts", accounts, "running_time", running_time(wish), "parameters",
                  job_plan_parameters(&wish->plan), "asking", asking));
}
