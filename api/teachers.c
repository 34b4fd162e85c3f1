/* Making and showing teachers. */
#include "api/teachers.h"

#include <string.h>

#include "algos/privacy/renyi.h"
#include "algos/release/teacher.h"
#include "api/budget.h"
#include "api/json_text.h"
#include "api/page.h"
#include "api/policies.h"
#include "api/teacher_request.h"
#include "api/teacher_shelf.h"
#include "storage/policies.h"

static const char protects[] =
    "Which of two observations (as 32-bit floats) at most radius apart in 2-norm was asked.";
static const char does_not_protect[] =
    "The data that the policy was trained on, unless that policy is itself private; that and when "
    "a query was made.";

static const char does_not_protect_secret[] =
    "The data that the policy was trained on, without privacy: each answer reveals a little of the "
    "policy, many reveal most of it, and no account counts what that tells of its training data; "
    "that and when a query was made. The network's Lipschitz bound is rounded up to a power of two "
    "before bound, sensitivity, order "
    "and prices follow from it: that power of two is all that they tell of the weights.";

/* ---- who may see what */

enum db_status teacher_may_ask(struct db *db, const struct teacher_row *teacher, const char *client,
                               bool *out_may)
{
    *out_may = teacher->has_client_budget;
    if (*out_may) {
        return DB_OK;
    }
    struct teacher_client_row standing;
    enum db_status status = teachers_client_find(db, teacher->id, client, &standing);
    *out_may = status == DB_OK;
    return status == DB_NONE ? DB_OK : status;
}

enum problem teacher_of_call(struct call *call, struct teacher_row *out)
{
    enum db_status status = teachers_find(call->db, call_parameter(call, "id"), out);
    bool may = false;
    if (status == DB_OK && call_is(call, ROLE_STEWARD)) {
        may = strcmp(out->owner, call->caller.id) == 0;
    } else if (status == DB_OK) {
        status = teacher_may_ask(call->db, out, call->caller.id, &may);
    }
    if (status == DB_NONE || (status == DB_OK && !may)) {
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such teacher.");
    }
    return status == DB_OK ? PROBLEM_NONE : call_db(call, status);
}

int64_t teacher_limit_units(double order, double epsilon, double delta)
{
    int64_t units = -1;
    double rho = renyi_budget(order, epsilon, delta);
    if (!(rho >= 0) || !ledger_units_down(rho, &units)) {
        return -1;
    }
    return units;
}

/* ---- as JSON */

/* How many answers at PRICE a fresh account of (epsilon, delta) pays. */
static int64_t answers_in(double order, double epsilon, double delta, uint64_t price)
{
    int64_t limit = teacher_limit_units(order, epsilon, delta);
    return limit < 0 || price == 0 || price > INT64_MAX ? 0 : limit / (int64_t)price;
}

static json_t *mechanism_json(const struct teacher_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", row->mechanism, "concentration",
                     json_number(row->concentration), "min_probability",
                     json_number(row->min_probability), "vanishing", json_number(row->vanishing),
                     "temperature", json_number(row->temperature));
}

/* OWNER: its steward sees the account too. SECRET: policy_is_secret. */
static json_t *teacher_json(const struct teacher_row *row, uint64_t price, bool owner, bool secret)
{
    double order = row->renyi_order;
    double delta = row->client_delta;
    struct ledger_account fresh = {.renyi_order = order, .epsilon = row->client_epsilon};
    fresh.delta = delta;
    json_t *cost = json_null(), *count = json_null(), *budget = json_null();
    if (row->has_client_budget) {
        json_decref(cost);
        json_decref(count);
        json_decref(budget);
        cost = budget_amount(budget_epsilon(&fresh, (int64_t)price), delta);
        count = json_integer(answers_in(order, row->client_epsilon, delta, price));
        budget = budget_amount(row->client_epsilon, delta);
    }
    return json_pack("{s:s, s:s, s:o, s:{s:s, s:o}, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, "
                     "s:s, s:s, s:o}",
                     "id", row->id, "policy", row->policy, "mechanism", mechanism_json(row),
                     "adjacency", "unit", row->adjacency, "radius", json_number(row->radius),
                     "accounting", "renyi", "order", json_number(order), "lipschitz",
                     json_number(row->lipschitz), "sensitivity", json_number(row->sensitivity),
                     "renyi_units_per_query", (json_int_t)price, "cost_per_query", cost,
                     "queries_in_client_budget", count, "client_budget", budget, "account",
                     json_text_or_null(owner ? row->account : ""), "protects", protects,
                     "does_not_protect", secret ? does_not_protect_secret : does_not_protect,
                     "created_at", json_time(row->created_ms));
}

static uint64_t price_of(const struct teacher_row *row, uint32_t actions)
{
    struct teacher teacher;
    teacher_of_row(row, actions, &teacher);
    return teacher_price(&teacher, row->concentration, row->renyi_order);
}

/* ---- making */

enum problem api_teachers_prepare(struct call *call)
{
    struct teacher_wish *wish = arena_array(&call->arena, 1, sizeof *wish);
    if (wish == NULL) {
        return PROBLEM_INTERNAL_ERROR;
    }
    call->plan = wish;
    return teacher_wish_read(call, wish);
}

enum problem api_teachers_create(struct call *call)
{
    const struct teacher_wish *wish = call->plan;
    struct teacher_row row = wish->row;
    id_new("tch_", row.id);
    row.created_ms = call->now_ms;
    const struct ledger_opening opening = {
        .kind = LEDGER_TEACHER,
        .resource = row.id,
        .owner = row.owner,
        .unit = row.adjacency,
        .renyi_order = row.renyi_order,
        .epsilon = wish->epsilon,
        .delta = wish->delta,
        .limit_units = teacher_limit_units(row.renyi_order, wish->epsilon, wish->delta),
        .event = "{}",
        .now_ms = call->now_ms};
    struct ledger_account account;
    enum db_status status = ledger_open_account(call->db, &opening, &account);
    if (status == DB_OK) {
        memcpy(row.account, account.id, ID_SIZE);
        status = teachers_insert(call->db, &row);
    }
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    call_location(call, "/v1/teachers/%s", row.id);
    return call_reply_json(call, 201,
                           teacher_json(&row, price_of(&row, wish->actions), true, wish->coarse));
}

/* ---- showing */

/* The price needs the number of actions, which is the policy's. */
static json_t *row_json(struct call *call, const struct teacher_row *row)
{
    struct policy_row policy;
    if (policies_find(call->db, row->policy, &policy) != DB_OK) {
        return NULL;
    }
    bool owner = strcmp(row->owner, call->caller.id) == 0;
    return teacher_json(row, price_of(row, policy.action_count), owner, policy_is_secret(&policy));
}

static bool list_one(void *context, const struct teacher_row *row)
{
    struct page *page = context;
    return page_add(page, row_json(page->call, row), row->id);
}

enum problem api_teachers_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    bool steward = call_is(call, ROLE_STEWARD);
    enum db_status status =
        teachers_list(call->db, steward ? call->caller.id : NULL, steward ? NULL : call->caller.id,
                      page.after, page.limit, list_one, &page);
    return status == DB_OK ? page_reply(&page) : call_db(call, status);
}

enum problem api_teachers_get(struct call *call)
{
    struct teacher_row row;
    enum problem problem = teacher_of_call(call, &row);
    return problem == PROBLEM_NONE ? call_reply_json(call, 200, row_json(call, &row)) : problem;
}
