/* Making and showing teachers. */
#include "api/teachers.h"

#include <string.h>

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

bool teacher_account(const struct teacher_row *teacher, double epsilon, double delta,
                     struct filter *out)
{
    _Static_assert(FILTER_UNITS_MAX == LEDGER_UNITS_MAX, "the ledger keeps what filters count");
    return filter_open(out, teacher->renyi_order, epsilon, delta);
}

int64_t teacher_answers_in(const struct teacher_row *teacher, double epsilon, double delta,
                           const struct filter_price *price)
{
    struct filter account;
    if (!teacher_account(teacher, epsilon, delta, &account)) {
        return 0;
    }
    int64_t count = account.limit_units / price->units;
    int64_t by_delta = price->delta_units > 0 ? account.limit_delta / price->delta_units : count;
    return count < by_delta ? count : by_delta;
}

/* ---- as JSON */

static json_t *mechanism_json(const struct teacher_row *row)
{
    if (row->sigma > 0) {
        return json_pack("{s:s, s:o, s:o}", "name", row->mechanism, "sigma",
                         json_number(row->sigma), "temperature", json_number(row->temperature));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", row->mechanism, "concentration",
                     json_number(row->concentration), "min_probability",
                     json_number(row->min_probability), "vanishing", json_number(row->vanishing),
                     "temperature", json_number(row->temperature));
}

/* What one answer costs a fresh account of the clients' budget. */
static json_t *cost_json(const struct teacher_row *row, const struct filter_price *price)
{
    double delta = row->client_delta;
    if (row->renyi_order == 0) {
        delta = ledger_delta_value(price->delta_units);
    } else if (!row->has_client_budget) {
        return json_null(); /* the conversion to epsilon needs the delta of a budget */
    }
    return budget_amount(filter_epsilon(row->renyi_order, price->units, delta), delta);
}

/* OWNER: its steward sees the account too. SECRET: policy_is_secret. */
static json_t *teacher_json(const struct teacher_row *row, const struct filter_price *price,
                            bool owner, bool secret)
{
    double epsilon = row->client_epsilon, delta = row->client_delta;
    bool client = row->has_client_budget, renyi = row->renyi_order > 0;
    json_t *count =
        client ? json_integer(teacher_answers_in(row, epsilon, delta, price)) : json_null();
    json_t *budget = client ? budget_amount(epsilon, delta) : json_null();
    return json_pack(
        "{s:s, s:s, s:o, s:{s:s, s:o}, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:s, s:s, s:o}",
        "id", row->id, "policy", row->policy, "mechanism", mechanism_json(row), "adjacency", "unit",
        row->adjacency, "radius", json_number(row->radius), "accounting", renyi ? "renyi" : "basic",
        "order", renyi ? json_number(row->renyi_order) : json_null(), "lipschitz",
        json_number(row->lipschitz), "sensitivity", json_number(row->sensitivity),
        "renyi_units_per_query", renyi ? json_integer(price->units) : json_null(), "cost_per_query",
        cost_json(row, price), "queries_in_client_budget", count, "client_budget", budget,
        "account", json_text_or_null(owner ? row->account : ""), "protects", protects,
        "does_not_protect", secret ? does_not_protect_secret : does_not_protect, "created_at",
        json_time(row->created_ms));
}

static bool price_of(const struct teacher_row *row, uint32_t actions, struct filter_price *out)
{
    struct teacher teacher;
    return teacher_of_row(row, actions, &teacher) &&
           teacher_price(&teacher, row->concentration, row->renyi_order, row->delta_share, out);
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
    struct filter limits;
    struct filter_price price;
    if (!teacher_account(&row, wish->epsilon, wish->delta, &limits) ||
        !price_of(&row, wish->actions, &price)) { /* both were seen to work when it was read */
        return call_problem(call, PROBLEM_INTERNAL_ERROR, "The teacher has no price.");
    }
    const struct ledger_opening opening = {.kind = LEDGER_TEACHER,
                                           .resource = row.id,
                                           .owner = row.owner,
                                           .unit = row.adjacency,
                                           .renyi_order = row.renyi_order,
                                           .epsilon = wish->epsilon,
                                           .delta = wish->delta,
                                           .limit_units = limits.limit_units,
                                           .limit_delta = limits.limit_delta,
                                           .event = "{\"type\":\"NoOpDpEvent\"}",
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
    return call_reply_json(call, 201, teacher_json(&row, &price, true, wish->coarse));
}

/* ---- showing */

/* The price needs the number of actions, which is the policy's. */
static json_t *row_json(struct call *call, const struct teacher_row *row)
{
    struct policy_row policy;
    struct filter_price price;
    if (policies_find(call->db, row->policy, &policy) != DB_OK ||
        !price_of(row, policy.action_count, &price)) {
        return NULL;
    }
    bool owner = strcmp(row->owner, call->caller.id) == 0;
    return teacher_json(row, &price, owner, policy_is_secret(&policy));
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
