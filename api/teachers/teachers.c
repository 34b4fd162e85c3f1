/* Making and showing teachers. */
#include "api/teachers/teachers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/release/teacher.h"
#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/call/certificate.h"
#include "api/call/certificates.h"
#include "api/call/names.h"
#include "api/call/page.h"
#include "api/call/project.h"
#include "api/data/datasets.h"
#include "api/json/json_text.h"
#include "api/policies/policies.h"
#include "api/teachers/teacher_new.h"
#include "api/teachers/teacher_shelf.h"
#include "storage/endings.h"
#include "storage/limit_changes.h"
#include "storage/policies.h"

/* ---- who may see what */

enum db_status teacher_may_ask(struct db *db, const struct teacher_row *teacher, const char *client,
                               bool *out_may)
{
    *out_may = teacher->has_client_budget && projects_always_open(teacher->owner);
    if (*out_may)
        return DB_OK;
    struct teacher_client_row standing;
    enum db_status status = teachers_client_find(db, teacher->id, client, &standing);
    *out_may = status == DB_OK;
    if (status != DB_NONE)
        return status;
    return projects_admit(db, teacher->has_client_budget ? teacher->owner : "", client, out_may);
}

enum problem teacher_of_call(struct call *call, struct teacher_row *out)
{
    return teacher_admit(call, teachers_find(call->db, call_parameter(call, "id"), out), out);
}

enum problem teacher_admit(struct call *call, enum db_status status, const struct teacher_row *row)
{
    static const struct teacher_row missing;
    bool may = false;
    /* What is missing takes as many statements as what is hidden. A job's right to ask was checked
     * when it was requested; its project may have been handed over since. */
    if (call_is(call, ROLE_STEWARD))
        may = status == DB_OK && (call->job || call_owns(call, row->owner));
    else if (status == DB_OK || status == DB_NONE)
        status = teacher_may_ask(call->db, status == DB_OK ? row : &missing, call->caller.id, &may);
    if (status == DB_NONE || (status == DB_OK && !may))
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such teacher.");
    return call_db(call, status);
}

bool teacher_account(const struct teacher_row *teacher, double epsilon, double delta,
                     struct filter *out)
{
    _Static_assert(FILTER_UNITS_MAX == LEDGER_UNITS_MAX, "the ledger keeps what filters count");
    return filter_open(out, teacher->renyi_order, epsilon, delta);
}

/* How many answers of PRICE two limits pay. */
static int64_t answers_within(int64_t units, int64_t delta_units, const struct filter_price *price)
{
    int64_t count = units / price->units;
    if (price->delta_units > 0 && delta_units / price->delta_units < count)
        count = delta_units / price->delta_units;
    return count;
}

int64_t teacher_answers_in(double order, double epsilon, double delta,
                           const struct filter_price *price)
{
    struct filter account;
    if (!filter_open(&account, order, epsilon, delta))
        return 0;
    return answers_within(account.limit_units, account.limit_delta, price);
}

enum db_status teacher_answer_prices(struct db *db, const struct teacher_row *teacher,
                                     struct teacher_prices *out)
{
    struct policy_row policy; /* whose number of actions the price needs */
    struct teacher made;
    double order[TEACHER_PAYERS];
    enum db_status status = policies_find(db, teacher->policy, &policy);
    if (status == DB_OK)
        status = teacher_orders_find(db, teacher, order);
    if (status == DB_OK &&
        !(teacher_of_row(teacher, policy.action_count, &made) &&
          teacher_prices_at(&made, teacher, order, teacher->concentration, 1, out)))
        return DB_FAILED;
    return db_owed(status);
}

struct filter_price teacher_account_left(const struct ledger_account *account)
{
    return (struct filter_price){account->limit_units - account->spent_units - account->held_units,
                                 account->limit_delta - account->spent_delta - account->held_delta};
}

/* ---- as JSON */

/* What one answer costs a fresh account of the clients' budget. */
static json_t *teacher_cost_json(const struct teacher_row *row, const struct filter_price *price)
{
    double delta = row->client_delta;
    if (row->renyi_order == 0)
        delta = ledger_delta_value(price->delta_units);
    else if (!row->has_client_budget)
        return json_null(); /* the conversion to epsilon needs the delta of a budget */
    return budget_amount(filter_epsilon(row->renyi_order, price->units, delta), delta);
}

/* What the dataset's account pays for the teacher's first answer, and for each further one. An
 * account that counts divergence itself pays the same for all. */
static json_t *dataset_cost_json(const struct teacher_row *row, const struct filter_price *price,
                                 const double order[TEACHER_PAYERS])
{
    if (order[PAYER_DATASET] > 1 && row->first_units == 0)
        return json_pack("{s:o, s:o}", "divergence", json_number(ledger_units_value(price->units)),
                         "order", json_number(order[PAYER_DATASET]));
    double first = ledger_units_value(row->first_units + price->units);
    double first_delta = ledger_delta_value(row->first_delta + price->delta_units);
    return json_pack(
        "{s:o, s:o}", "first", budget_amount(first, first_delta), "further",
        budget_amount(ledger_units_value(price->units), ledger_delta_value(price->delta_units)));
}

/* A teacher as JSON. OWNER: the caller is its steward and sees the accounts too. SECRET:
 * policy_is_secret, of one network. */
static json_t *teacher_json(const struct teacher_row *row, const struct teacher_prices *prices,
                            const double order[TEACHER_PAYERS], bool owner, bool secret)
{
    const struct filter_price *price = &prices->of[PAYER_CLIENT];
    double epsilon = row->client_epsilon, delta = row->client_delta;
    json_t *json = json_pack(
        "{s:s, s:s, s:o, s:o, s:s, s:n, s:n, s:o, s:n, s:o, s:n, s:n, s:n, s:s, s:s, s:o}", "id",
        row->id, "policy", row->policy, "mechanism", teacher_mechanism_json(row), "adjacency",
        teacher_adjacency_json(row), "accounting", teacher_accounting(row), "order", "lipschitz",
        "sensitivity", json_number(row->sensitivity), "renyi_units_per_query", "cost_per_query",
        teacher_cost_json(row, price), "queries_in_client_budget", "client_budget", "account",
        "protects", teacher_protects(row), "does_not_protect", teacher_exposes(row, secret),
        "created_at", json_time(row->created_ms));
    json_t *more = json_pack("{s:s, s:n, s:s, s:o, s:n, s:n, s:o}", "state", "open", "closed_at",
                             "when_spent", row->when_spent, "dataset",
                             json_text_or_null(owner ? row->dataset : ""), "dataset_account",
                             "dataset_cost", "certificate", json_text_or_null(row->certificate));
    json_object_update_new(json, more);
    if (row->renyi_order > 0) {
        json_object_set_new(json, "order", json_number(row->renyi_order));
        json_object_set_new(json, "renyi_units_per_query", json_integer(price->units));
    }
    if (row->shards == 0 && !secret)
        json_object_set_new(json, "lipschitz", json_number(row->lipschitz));
    if (row->has_client_budget)
        json_object_set_new(json, "client_budget", budget_amount(epsilon, delta));
    if (owner) {
        json_object_set_new(json, "account", json_text_or_null(row->account));
        json_object_set_new(json, "dataset_account", json_text_or_null(row->dataset_account));
    }
    if (row->dataset_account[0] != '\0')
        json_object_set_new(json, "dataset_cost",
                            dataset_cost_json(row, &prices->of[PAYER_DATASET], order));
    return json;
}

/* Adds to a teacher's JSON how many answers its default budget pays, which are no more than the
 * teacher's CAP pays for all clients, and to WARNINGS if that is the smaller number. */
static void add_answers(json_t *json, const struct teacher_row *row,
                        const struct teacher_prices *prices, const struct ledger_account *cap,
                        json_t *warnings)
{
    if (!row->has_client_budget)
        return;
    int64_t own = teacher_answers_in(row->renyi_order, row->client_epsilon, row->client_delta,
                                     &prices->of[PAYER_CLIENT]);
    int64_t all = answers_within(cap->limit_units, cap->limit_delta, &prices->of[PAYER_TEACHER]);
    json_object_set_new(json, "queries_in_client_budget", json_integer(own < all ? own : all));
    if (own > all)
        json_array_append_new(
            warnings, json_sprintf("The budget of one client would pay %" JSON_INTEGER_FORMAT
                                   " answers, but the teacher's budget pays %" JSON_INTEGER_FORMAT
                                   " for all clients together: no client gets more.",
                                   (json_int_t)own, (json_int_t)all));
}

/* Adds to a teacher's JSON what its default budget guarantees. */
static void add_guarantee(json_t *json, const struct teacher_guarantee *wish)
{
    json_t *budget = json_object_get(json, "client_budget");
    if (share_wished(wish) && json_is_object(budget))
        json_object_set_new(budget, "guaranteed",
                            wish->answers > 0
                                ? json_pack("{s:I}", "answers", (json_int_t)wish->answers)
                                : budget_amount(wish->epsilon, wish->delta));
}

/* ---- making */

/* Of so many of an id's last characters is the name of a teacher that was given none. */
#define NAMED_BY 4

enum problem api_teachers_prepare(struct call *call)
{
    struct teacher_wish *wish = arena_array(&call->arena, 1, sizeof *wish);
    call->plan = wish;
    return teacher_wish_read(call, wish);
}

/* Stores a new teacher with its certificate. */
static enum db_status teacher_insert(struct call *call, struct teacher_row *row,
                                     const struct teacher_wish *wish,
                                     const struct ledger_account *account)
{
    id_new("crt_", row->certificate);
    json_t *proof = NULL, *described = NULL;
    enum db_status status = certificate_proof(call->app, call->db, account, &proof);
    if (status == DB_OK)
        status = dataset_certified_description(call->db, wish->dataset.id, &described);
    if (status == DB_OK) {
        char *text = NULL;
        status = teacher_certificate(call, row, wish, account, proof, described, &text);
        if (status == DB_OK)
            status = teachers_insert(call->db, row, text);
        free(text);
    }
    json_decref(proof);
    json_decref(described);
    return status;
}

enum problem api_teachers_create(struct call *call)
{
    struct teacher_wish *wish = call->plan;
    struct teacher_row row = wish->row;
    bool deleted = false; /* since the request was read */
    enum db_status status = endings_deleted(call->db, row.policy, &deleted);
    if (status == DB_OK && wish->dataset.id[0] != '\0') /* is it covered, as the log has it */
        status = db_owed(datasets_find(call->db, wish->dataset.id, &wish->dataset));
    if (status == DB_OK && (deleted || !call_owns(call, row.owner)))
        return call_invalid(call, "/policy", "is not known");
    if (status != DB_OK)
        return call_db(call, status);
    if (row.dataset_account[0] != '\0' && strcmp(row.dataset_account, wish->dataset.account) != 0)
        return call_problem(call, PROBLEM_CONFLICT,
                            "The dataset was changed while the teacher was planned: ask again.");
    id_new("tch_", row.id);
    row.created_ms = call->now_ms;
    if (row.name[0] == '\0') /* one that everybody sees */
        snprintf(row.name, sizeof row.name, "teacher %s", row.id + strlen(row.id) - NAMED_BY);
    struct filter limits;
    double order = wish->order[PAYER_TEACHER];
    /* It succeeded when the request was read. */
    if (!filter_open(&limits, order, wish->epsilon, wish->delta))
        return call_problem(call, PROBLEM_INTERNAL_ERROR, "The teacher has no price.");
    const struct ledger_opening opening = {.kind = LEDGER_TEACHER,
                                           .resource = row.id,
                                           .owner = row.owner,
                                           .unit = row.adjacency,
                                           .renyi_order = order,
                                           .epsilon = wish->epsilon,
                                           .delta = wish->delta,
                                           .limit_units = limits.limit_units,
                                           .limit_delta = limits.limit_delta,
                                           .event = "{\"type\":\"NoOpDpEvent\"}",
                                           .now_ms = call->now_ms};
    struct ledger_account account;
    status = ledger_open_account(call->db, &opening, &account);
    if (status == DB_OK) {
        memcpy(row.account, account.id, ID_SIZE);
        if (wish->approvals > 1)
            status = limit_approvals_set(call->db, account.id, wish->approvals);
    }
    if (status == DB_OK)
        status = teacher_insert(call, &row, wish, &account);
    if (status == DB_OK && share_wished(&wish->guaranteed))
        status = teachers_set_guarantee(call->db, row.id, &wish->guaranteed);
    if (status != DB_OK)
        return call_db(call, status);
    call_header(call, "Location", "/v1/teachers/%s", row.id);
    return call_reply_json(call, 201, teacher_row_json(call, &row));
}

/* ---- showing */

/* The price needs the number of actions, which is the policy's. */
json_t *teacher_row_json(struct call *call, const struct teacher_row *row)
{
    struct policy_row policy;
    struct ending ending;
    struct teacher teacher;
    double order[TEACHER_PAYERS];
    struct teacher_prices prices;
    struct teacher_guarantee guaranteed;
    struct ledger_account cap;
    if (policies_find(call->db, row->policy, &policy) != DB_OK ||
        teachers_guarantee(call->db, row->id, &guaranteed) != DB_OK ||
        teacher_orders_find(call->db, row, order) != DB_OK ||
        ledger_find(call->db, row->account, &cap) != DB_OK ||
        !teacher_of_row(row, policy.action_count, &teacher) ||
        !teacher_prices_at(&teacher, row, order, row->concentration, 1, &prices))
        return NULL;
    json_t *warnings = policy_warnings(call, &policy);
    if (!warnings)
        return NULL;
    bool owner = call_owns(call, row->owner);
    bool secret = row->shards == 0 && policy_is_secret(&policy);
    enum db_status status = endings_find(call->db, row->id, &ending);
    if (status != DB_OK && status != DB_NONE) {
        json_decref(warnings);
        return NULL;
    }
    json_t *json = project_add(call, teacher_json(row, &prices, order, owner, secret), row->owner);
    add_answers(json, row, &prices, &cap, warnings);
    json_object_set_new(json, "warnings", warnings);
    add_guarantee(json, &guaranteed);
    if (json && status == DB_OK) {
        json_object_set_new(json, "state", json_string("closed"));
        json_object_set_new(json, "closed_at", json_time(ending.closed_ms));
    }
    if (names_show(call->db, json, "dataset_name", row->dataset, owner) != DB_OK) {
        json_decref(json);
        return NULL;
    }
    const char *policy_name = owner ? policy.name : "";
    json_object_set_new(json, "policy_name", json_text_or_null(policy_name));
    json_object_set_new(json, "name", json_text_or_null(row->name[0] ? row->name : policy_name));
    return json;
}

static bool teacher_list_one(void *context, const struct teacher_row *row)
{
    struct page *page = context;
    return page_add(page, teacher_row_json(page->call, row), row->created_ms, row->id);
}

enum problem api_teachers_list(struct call *call)
{
    struct page page;
    enum problem problem = page_read(call, &page);
    if (problem != PROBLEM_NONE)
        return problem;
    return page_end(&page, teachers_list(call->db, page_owner(&page), call_guest(call), &page.rows,
                                         teacher_list_one, &page));
}

enum problem api_teachers_get(struct call *call)
{
    struct teacher_row row;
    enum problem problem = teacher_shown(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(call, 200, teacher_row_json(call, &row));
}

enum problem api_teachers_certificate(struct call *call)
{
    const char *id = call_parameter(call, "id");
    struct teacher_row row;
    char certificate[ID_SIZE], owner[ID_SIZE], *text = NULL;
    enum problem problem = PROBLEM_NONE;
    if (!call_is(call, ROLE_AUDITOR) && (problem = teacher_of_call(call, &row)) != PROBLEM_NONE)
        return problem;
    enum db_status status = teachers_certificate(call->db, id, certificate, owner, &text);
    if (status == DB_NONE) {
        return call_problem(call, PROBLEM_NOT_FOUND,
                            "There is no such teacher, or it is older than certificates.");
    }
    if (status != DB_OK)
        return call_db(call, status);
    return certificate_reply(call, certificate, text);
}
