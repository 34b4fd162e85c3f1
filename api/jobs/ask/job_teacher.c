/* Checks the teacher of a requested job: which teacher it may ask, who pays, and the expected cost.
 */
#include <stdio.h>
#include <string.h>

#include "algos/online/kickstart_algorithm.h"
#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/ask/plan_members.h"
#include "api/json/json_text.h"
#include "api/policies/policies.h"
#include "api/teachers/queries.h"
#include "api/teachers/query.h"
#include "api/teachers/teachers.h"
#include "storage/clients.h"
#include "storage/endings.h"
#include "storage/policies.h"

/* False: the faults are in the call. */
static bool check_teacher_form(struct call *call, const char *teacher, const char *client,
                               const struct job_plan *plan)
{
    bool asks = plan->request.mechanism == MECHANISM_TEACHER_ANSWERS;
    if (teacher && !asks)
        call_invalid(call, "/teacher",
                     "has no meaning with this algorithm and mechanism, which "
                     "ask nobody");
    if (client && !asks)
        call_invalid(call, "/client", "has no meaning where no teacher is asked");
    if (!teacher && asks) {
        call_invalid(call, "/teacher",
                     "is required; with mechanism \"none\" the student learns alone");
    }
    return call_error_count(call) == 0;
}

/* PROBLEM_NONE when CLIENT has a budget at the teacher, or would get one with its first question.
 */
static enum problem check_payer(struct call *call, const struct teacher_row *row,
                                const char *client, bool named)
{
    bool may = false;
    struct client_row who;
    enum db_status status = clients_find(call->db, client, &who);
    bool known = status == DB_OK && who.revoked_ms == 0;
    if (known)
        status = teacher_may_ask(call->db, row, client, &may);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (known && may && (role_find(who.role) & (ROLE_STUDENT | ROLE_STEWARD)) != 0)
        return PROBLEM_NONE;
    const char *pointer = "/teacher"; /* a client who is not there is told of in the same words */
    if (named)
        pointer = "/client";
    return call_invalid(call, pointer,
                        "has no budget to pay from: PUT /v1/teachers/%s/budgets/%s grants one",
                        row->id, client);
}

static enum problem take_terms(struct call *call, const struct shelved_teacher *t,
                               struct job_plan *plan)
{
    const struct algorithm_request *request = &plan->request;
    if (t->state_dim != request->state_dim || t->teacher.actions != request->action_count) {
        return call_invalid(call, "/teacher",
                            "answers states of %u numbers with %u actions; the environment has %u "
                            "and %u",
                            t->state_dim, t->teacher.actions, request->state_dim,
                            request->action_count);
    }
    struct policy_row policy = {.released = true};
    enum db_status status = DB_OK;
    if (t->row.shards == 0)
        status = policies_find(call->db, t->row.policy, &policy);
    if (status != DB_OK)
        return call_db(call, status);
    plan->request.teacher = (struct teacher_terms){.concentration = t->row.concentration,
                                                   .least = rollout_least(&t->row),
                                                   .states_max = states_limit(call->app, t->work),
                                                   .protects_experts = t->row.shards > 0,
                                                   .over_private_data = t->row.shards == 0 &&
                                                                        policy_is_secret(&policy)};
    return PROBLEM_NONE;
}

enum problem job_teacher_fit(struct call *call, const char *teacher, const char *client,
                             struct job_plan *plan)
{
    const struct shelved_teacher *t;
    struct teacher_row row;
    struct ending ending;
    if (!check_teacher_form(call, teacher, client, plan))
        return PROBLEM_VALIDATION;
    if (!teacher)
        return PROBLEM_NONE;
    enum db_status status = teachers_find(call->db, teacher, &row);
    if (status == DB_OK && !call_owns(call, row.owner))
        status = DB_NONE;
    bool known = status == DB_OK;
    if (known)
        status = endings_find(call->db, teacher, &ending);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (!known || status == DB_OK)
        return call_invalid(call, "/teacher", "is not known, or closed");
    const char *payer = client;
    if (!client)
        payer = call->caller.id;
    enum problem problem = check_payer(call, &row, payer, client);
    if (problem != PROBLEM_NONE)
        return problem;
    status = teacher_shelf_borrow(call->app, call->db, teacher, &t);
    if (status != DB_OK)
        return call_db(call, db_owed(status));
    problem = take_terms(call, t, plan);
    teacher_shelf_return(call->app, t);
    snprintf(plan->teacher, sizeof plan->teacher, "%s", teacher);
    snprintf(plan->payer, sizeof plan->payer, "%s", payer);
    return problem;
}

/* ---- as JSON */

static const struct plan_member teacher_members[] = {
    PLAN_MEMBER("id", teacher),
    PLAN_MEMBER("client", payer),
    PLAN_MEMBER("concentration", request.teacher.concentration),
    PLAN_MEMBER("least_concentration", request.teacher.least),
    PLAN_MEMBER("states_max", request.teacher.states_max),
    PLAN_MEMBER("over_private_data", request.teacher.over_private_data),
    {.name = NULL},
};

json_t *job_teacher_json(const struct job_plan *plan)
{
    const char *unit = "observation";
    if (plan->teacher[0] == '\0')
        return json_null();
    if (plan->request.teacher.protects_experts)
        unit = "expert";
    json_t *json = json_pack("{s:s}", "unit", unit);
    plan_members_write(teacher_members, plan, json);
    return json;
}

bool job_teacher_parse(const json_t *json, struct job_plan *out)
{
    const char *unit = json_string_value(json_object_get(json, "unit"));
    if (!json_is_object(json))
        return out->request.mechanism != MECHANISM_TEACHER_ANSWERS;
    plan_members_read(teacher_members, json, out);
    out->request.teacher.protects_experts = unit && strcmp(unit, "expert") == 0;
    return unit && out->teacher[0] != '\0' && out->payer[0] != '\0';
}

/* ---- the estimate */

/* Roll-outs that are priced one by one. Later ones are taken at the price of the last, which is not
 * too low, because prices fall along a schedule. */
#define ROLLOUTS_PRICED 1000

/* In the order of enum teacher_payer. */
struct purse {
    struct ledger_account account[TEACHER_PAYERS];
    struct filter_price left[TEACHER_PAYERS];
    struct filter_price share[TEACHER_PAYERS]; /* left of what is set aside, which pays first */
    double order[TEACHER_PAYERS];
    unsigned count;
};

static void put_account(struct purse *purse, const struct ledger_account *account)
{
    unsigned i = purse->count++;
    purse->account[i] = *account;
    purse->left[i] = teacher_account_left(account);
}

static uint64_t least_times(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The most of MOST times that LEFT pays EACH. */
static uint64_t purse_part_times(int64_t left, int64_t each, uint64_t most)
{
    if (each <= 0)
        return most;
    if (left <= 0)
        return 0;
    return least_times((uint64_t)(left / each), most);
}

/* How often LEFT pays PRICE. */
static uint64_t purse_times(const struct filter_price *left, const struct filter_price *price)
{
    uint64_t times = purse_part_times(left->units, price->units, UINT64_MAX / 2);
    return purse_part_times(left->delta_units, price->delta_units, times);
}

static void purse_take(struct filter_price *left, const struct filter_price *price, uint64_t times)
{
    left->units -= (int64_t)times * price->units;
    left->delta_units -= (int64_t)times * price->delta_units;
}

/* Lets every account of PURSE pay PRICE as often as all of them can, at most MOST times. Returns
 * how often. */
static uint64_t purse_pay(struct purse *purse, const struct teacher_prices *prices, uint64_t most)
{
    uint64_t by_share[TEACHER_PAYERS];
    for (unsigned i = 0; i < purse->count; i++) {
        by_share[i] = purse_times(&purse->share[i], &prices->of[i]);
        uint64_t by_left = purse_times(&purse->left[i], &prices->of[i]);
        most = least_times(by_share[i] + by_left, most);
    }
    for (unsigned i = 0; i < purse->count; i++) {
        uint64_t aside = least_times(by_share[i], most);
        purse_take(&purse->share[i], &prices->of[i], aside);
        purse_take(&purse->left[i], &prices->of[i], most - aside);
    }
    return most;
}

/* Finds the payer's account with this teacher, and its STANDING. Without one, OUT is the full
 * account that a first question would open. */
static enum db_status find_payer(struct call *call, const struct teacher_row *row,
                                 const char *client, struct ledger_account *out,
                                 struct teacher_client_row *standing)
{
    struct filter fresh;
    enum db_status status = teachers_client_find(call->db, row->id, client, standing);
    if (status == DB_OK)
        return teachers_client_account(call->db, standing, out);
    *standing = (struct teacher_client_row){.rollout = 0};
    if (status != DB_NONE)
        return status;
    if (!teacher_account(row, row->client_epsilon, row->client_delta, &fresh))
        return DB_NONE;
    *out = (struct ledger_account){.epsilon = row->client_epsilon,
                                   .delta = row->client_delta,
                                   .renyi_order = row->renyi_order,
                                   .limit_units = fresh.limit_units,
                                   .limit_delta = fresh.limit_delta};
    return DB_OK;
}

/* Finds what is left of the share ID. */
static enum db_status share_left(struct call *call, const char *id, struct filter_price *out)
{
    struct ledger_account share;
    *out = (struct filter_price){0, 0};
    if (id[0] == '\0')
        return DB_OK;
    enum db_status status = ledger_find(call->db, id, &share);
    if (status == DB_OK)
        *out = teacher_account_left(&share);
    return status;
}

static enum db_status purse_fill(struct call *call, const struct teacher_row *row,
                                 const char *client, struct purse *purse, int64_t *out_rollout)
{
    struct ledger_account account;
    struct teacher_client_row standing;
    enum db_status status = find_payer(call, row, client, &account, &standing);
    *out_rollout = standing.rollout;
    if (status == DB_OK)
        status = share_left(call, standing.share, &purse->share[PAYER_TEACHER]);
    if (status == DB_OK)
        status = share_left(call, standing.dataset_share, &purse->share[PAYER_DATASET]);
    if (status == DB_OK)
        status = teacher_orders_find(call->db, row, purse->order);
    if (status == DB_OK) {
        put_account(purse, &account);
        status = ledger_find(call->db, row->account, &account);
    }
    if (status == DB_OK)
        put_account(purse, &account);
    if (status == DB_OK && row->dataset_account[0] != '\0') {
        status = ledger_find(call->db, row->dataset_account, &account);
        if (status == DB_OK)
            put_account(purse, &account);
    }
    return status;
}

/* Computes the price of one roll-out's answers. False: the job asks nothing more. */
static bool price_of(const struct shelved_teacher *t, const double order[TEACHER_PAYERS],
                     const struct algorithm_request *request, int64_t begun, uint64_t rollout,
                     struct teacher_prices *out)
{
    double wish = 0;
    bool floor = false;
    double k = rollout_concentration(&t->row, begun + (int64_t)rollout + 1, &floor);
    if (floor || !kickstart_wish(request, rollout, &wish))
        return false;
    if (wish > 0 && wish < k)
        k = wish;
    return teacher_prices_at(&t->teacher, &t->row, order, k, (int64_t)kickstart_questions(request),
                             out);
}

static uint64_t count_paid(const struct shelved_teacher *t, const struct job_plan *plan,
                           int64_t begun, struct purse *purse)
{
    uint64_t total = kickstart_rollouts(&plan->request, &plan->plan), paid = 0;
    struct teacher_prices price = {0};
    while (paid < total && paid < ROLLOUTS_PRICED) {
        if (!price_of(t, purse->order, &plan->request, begun, paid, &price) ||
            purse_pay(purse, &price, 1) == 0)
            return paid;
        paid++;
    }
    if (paid < total)
        paid += purse_pay(purse, &price, total - paid);
    return paid;
}

static json_t *cost_json(const struct purse *purse)
{
    const struct ledger_account *payer = &purse->account[0];
    int64_t units =
        payer->limit_units - payer->spent_units - payer->held_units - purse->left[0].units;
    int64_t delta =
        payer->limit_delta - payer->spent_delta - payer->held_delta - purse->left[0].delta_units;
    double epsilon = budget_epsilon_added(payer, payer->spent_units, units), told = 0;
    if (payer->renyi_order <= 0)
        told = ledger_delta_value(delta);
    else if (payer->spent_units == 0 && units > 0)
        told = payer->delta;
    return budget_amount(epsilon, told);
}

enum problem job_teacher_estimate(struct call *call, const struct job_plan *plan, json_t *accounts,
                                  json_t **out_cost, json_t **out_asking)
{
    const struct shelved_teacher *t;
    struct purse purse = {.count = 0};
    int64_t begun = 0;
    enum db_status status = teacher_shelf_borrow(call->app, call->db, plan->teacher, &t);
    if (status != DB_OK)
        return call_db(call, status);
    struct teacher_row now; /* the shelf's may name an account that the dataset had before */
    status = teachers_find(call->db, plan->teacher, &now);
    if (status == DB_OK)
        status = purse_fill(call, &now, plan->payer, &purse, &begun);
    uint64_t paid = 0;
    if (status == DB_OK)
        paid = count_paid(t, plan, begun, &purse);
    teacher_shelf_return(call->app, t);
    if (status != DB_OK)
        return call_db(call, status);
    for (unsigned i = 0; i < purse.count; i++)
        if (purse.account[i].id[0] != '\0')
            json_array_append_new(accounts, budget_json(&purse.account[i]));
    *out_cost = cost_json(&purse);
    *out_asking = json_pack("{s:I, s:I, s:I}", "rollouts",
                            (json_int_t)kickstart_rollouts(&plan->request, &plan->plan),
                            "rollouts_paid", (json_int_t)paid, "states_paid",
                            (json_int_t)paid * (json_int_t)kickstart_questions(&plan->request));
    return PROBLEM_NONE;
}
