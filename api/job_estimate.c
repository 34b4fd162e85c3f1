/* What a job would cost: planned like a real one, never stored, never charged. */
#include "api/jobs.h"

#include <string.h>

#include "api/budget.h"
#include "api/job_request.h"
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

static json_t *plan_json(const struct job_wish *wish)
{
    const struct algorithm_plan *plan = &wish->plan.plan;
    bool private = wish->plan.request.mechanism != MECHANISM_NONE;
    json_t *json = private ? job_plan_privacy(&wish->plan)
                           : json_pack("{s:I}", "steps", (json_int_t)plan->total_steps);
    if (json != NULL) {
        json_object_set_new(json, "parameter_count",
                            json_integer((json_int_t)plan->parameter_count));
    }
    return json;
}

enum problem api_jobs_estimate(struct call *call)
{
    const struct job_wish *wish = call->plan;
    const struct dp_sgd_plan *privacy = &wish->plan.plan.privacy;
    bool private = wish->plan.request.mechanism != MECHANISM_NONE;
    bool pays = true;
    json_t *accounts = json_array();
    if (private && wish->dataset.account[0] != '\0') {
        struct ledger_account account;
        enum db_status status = ledger_find(call->db, wish->dataset.account, &account);
        if (status != DB_OK) {
            json_decref(accounts);
            return call_db(call, status == DB_NONE ? DB_FAILED : status);
        }
        json_array_append_new(accounts, budget_json(&account));
        pays = wish->feasible && can_pay(&account, privacy);
    }
    const char *reason = !wish->feasible ? wish->why_not
                         : !pays         ? "the dataset's budget cannot pay for it"
                                         : NULL;
    json_t *cost = wish->feasible && private ? budget_amount(privacy->epsilon, privacy->delta)
                                             : budget_amount(0, 0);
    if (!wish->feasible) {
        json_decref(cost);
        cost = json_null();
    }
    return call_reply_json(call, 200,
                           json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "feasible",
                                     (int)(wish->feasible && pays), "reason",
                                     json_text_or_null(reason), "cost", cost, "plan",
                                     wish->feasible ? plan_json(wish) : json_null(), "accounts",
                                     accounts, "parameters", job_plan_parameters(&wish->plan)));
}
