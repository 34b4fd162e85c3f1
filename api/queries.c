/* Asking a teacher.
 *
 * DESIGN. The order of a charged call: check, debit, draw, store, reply. Debit and stored answer
 * are one transaction that serve.c wraps around this handler; the noise is drawn in memory between
 * them and is gone when the transaction fails. A batch of states is one debit: whole or refused.
 * Tens of thousands of these run in a second, so the teacher comes from the shelf, nothing is
 * computed twice and the reply is written by hand. */
#include "api/queries.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/budget.h"
#include "api/fields.h"
#include "api/query_estimate.h"
#include "api/query_event.h"
#include "api/query_reply.h"
#include "api/rollouts.h"
#include "api/states_json.h"
#include "api/teacher_shelf.h"
#include "api/teachers.h"
#include "storage/answers.h"

#define ESTIMATE_COUNT_MAX 1000000000
/* Multiply-adds of one query, a few milliseconds: it holds up every call of its commit. */
#define QUERY_WORK_MAX 20000000

static const char *const reuses[] = {"exact", NULL};
static const char *const accountings[] = {"paper", NULL};

struct query {
    struct call *call;
    const struct shelved_teacher *teacher; /* borrowed from the shelf */
    struct teacher_client_row standing;
    bool batch; /* "states" was sent */
    uint32_t count;
    float *states;
    double wished_concentration; /* 0: not sent */
    double max_epsilon;          /* 0: not sent */
    int reuse;                   /* 0: "exact"; -1: not sent */
    double concentration;        /* 0 where the mechanism has none */
    struct filter_price cost;    /* of all states together */
};

/* ---- the teacher */

static void give_back(void *context)
{
    struct query *query = context;
    teacher_shelf_return(query->call->app->teachers, query->teacher);
}

static enum problem find_teacher(struct query *query)
{
    struct call *call = query->call;
    enum db_status status = teacher_shelf_borrow(call->app->teachers, call->db,
                                                 call_parameter(call, "id"), &query->teacher);
    if (status == DB_OK && !call_defer(call, give_back, query)) {
        return PROBLEM_INTERNAL_ERROR;
    }
    bool may = false;
    if (status == DB_OK && call_is(call, ROLE_STEWARD)) {
        may = strcmp(query->teacher->row.owner, call->caller.id) == 0;
    } else if (status == DB_OK) {
        status = teacher_may_ask(call->db, &query->teacher->row, call->caller.id, &may);
    }
    if (status == DB_NONE || (status == DB_OK && !may)) {
        return call_problem(call, PROBLEM_NOT_FOUND, "There is no such teacher.");
    }
    return status == DB_OK ? PROBLEM_NONE : call_db(call, status);
}

/* ---- the request */

static bool read_states(struct query *query, const json_t *states)
{
    struct call *call = query->call;
    const struct mlp_shape *shape = &query->teacher->policy->shape;
    size_t parameters = mlp_parameter_count(shape);
    size_t most = parameters < QUERY_WORK_MAX ? QUERY_WORK_MAX / parameters : 1;
    uint32_t limit = call->app->settings.max_states_per_query;
    if (most < limit && json_array_size(states) > most) {
        call_invalid(call, "/states", "must be at most %zu states for a network of %zu parameters",
                     most, parameters);
        return false;
    }
    query->count = states_read(call, states, "/states", shape->input, limit, &query->states);
    return query->count > 0;
}

static bool read_body(struct query *query)
{
    struct call *call = query->call;
    json_t *state = NULL, *states = NULL;
    query->reuse = -1;
    const struct field fields[] = {
        field_optional(field_any("state", &state)),
        field_optional(field_any("states", &states)),
        field_optional(field_positive("concentration", &query->wished_concentration, 1e12)),
        field_optional(field_positive("max_epsilon", &query->max_epsilon, 1e9)),
        field_optional(field_choice("reuse", &query->reuse, reuses)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0])) {
        return false;
    }
    if ((state == NULL) == (states == NULL)) {
        call_invalid(call, "", "must have either state or states");
        return false;
    }
    uint32_t dim = query->teacher->policy->shape.input;
    query->batch = states != NULL;
    if (query->batch) {
        return read_states(query, states);
    }
    query->count = 1;
    query->states = arena_array(&call->arena, dim, sizeof(float));
    return query->states != NULL && state_read(call, state, "/state", dim, query->states);
}

static enum problem set_price(struct query *query)
{
    struct call *call = query->call;
    const struct shelved_teacher *t = query->teacher;
    double most = rollout_concentration(&t->row, query->standing.rollout),
           least = 1 / t->row.min_probability;
    double wished = query->wished_concentration;
    if (wished > 0 && most == 0) {
        return call_invalid(call, "/concentration", "is not a setting of \"%s\"", t->row.mechanism);
    }
    if (wished > most) {
        return call_invalid(call, "/concentration", "must be at most %g, the teacher's now", most);
    }
    if (wished > 0 && wished * t->row.min_probability < 1) {
        return call_invalid(call, "/concentration",
                            "must be at least %g: less would cost as much and say less", least);
    }
    query->concentration = wished > 0 ? wished : most;
    struct filter_price price = t->price;
    if ((query->concentration != t->row.concentration &&
         !teacher_price(&t->teacher, query->concentration, t->row.renyi_order, t->row.delta_share,
                        &price)) ||
        !ledger_units_times(price.units, query->count, &query->cost.units) ||
        !ledger_units_times(price.delta_units, query->count, &query->cost.delta_units)) {
        return call_invalid(call, "", "has a price that is too large to be counted");
    }
    return PROBLEM_NONE;
}

/* ---- paying */

/* Refuses before anything changes what would cost more than the caller wished to pay. */
static enum problem check_cost(struct query *query)
{
    struct call *call = query->call;
    struct ledger_account account;
    if (query->max_epsilon <= 0) {
        return PROBLEM_NONE;
    }
    enum db_status status = ledger_find(call->db, query->standing.account, &account);
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    double cost = budget_epsilon_added(&account, account.spent_units, query->cost.units);
    if (cost > query->max_epsilon) {
        return call_problem(call, PROBLEM_COST_ABOVE_MAXIMUM,
                            "It would cost epsilon %g; max_epsilon is %g. Nothing was charged.",
                            cost, query->max_epsilon);
    }
    return PROBLEM_NONE;
}

static enum problem pay(struct query *query, const char *id, struct ledger_account *out_account)
{
    struct call *call = query->call;
    const struct filter_price *cost = &query->cost;
    char event[QUERY_EVENT_SIZE];
    query_event_write(query->teacher, query->count, query->concentration, event);
    const struct ledger_charge charge = {
        .prices = {{query->standing.account, cost->units, cost->delta_units},
                   {query->teacher->row.account, cost->units, cost->delta_units}},
        .count = 2,
        .client = call->caller.id,
        .resource = id,
        .event = event,
        .now_ms = call->now_ms};
    struct ledger_outcome outcome;
    enum db_status status = ledger_debit(call->db, &charge, &outcome);
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    if (outcome.verdict != LEDGER_OK) {
        return budget_refused(call, &outcome);
    }
    *out_account = outcome.parts[0].account;
    return PROBLEM_NONE;
}

/* ---- drawing */

static bool draw(struct query *query, double *answers)
{
    struct teacher_shelf *shelf = query->call->app->teachers;
    const struct shelved_teacher *t = query->teacher;
    struct noise_source *noise = teacher_shelf_take_noise(shelf);
    if (noise == NULL) {
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < query->count && good; i++) {
        good = teacher_answer(&t->teacher, t->policy, query->concentration, noise,
                              query->states + (size_t)i * t->policy->shape.input,
                              answers + (size_t)i * t->teacher.actions);
    }
    teacher_shelf_give_noise(shelf, noise);
    return good;
}

static enum problem answer(struct query *query)
{
    struct call *call = query->call;
    const struct shelved_teacher *t = query->teacher;
    uint32_t actions = t->teacher.actions;
    double *answers = arena_array(&call->arena, (size_t)query->count * actions, sizeof *answers);
    if (answers == NULL) {
        return PROBLEM_INTERNAL_ERROR;
    }
    char id[ID_SIZE];
    struct ledger_account account;
    teacher_shelf_query_id(call->app->teachers, id);
    enum problem problem = check_cost(query);
    if (problem != PROBLEM_NONE || (problem = pay(query, id, &account)) != PROBLEM_NONE) {
        return problem;
    }
    if (!draw(query, answers)) {
        return call_problem(call, PROBLEM_INTERNAL_ERROR,
                            "No answer could be drawn. Nothing was charged.");
    }
    const struct query_answer given = {
        .id = id,
        .probabilities = answers,
        .actions = actions,
        .count = query->count,
        .batch = query->batch,
        .concentration = query->concentration,
        .sigma = t->row.sigma,
        .error_radius =
            query->concentration == t->row.concentration
                ? t->error_radius
                : teacher_error_radius(&t->teacher, query->concentration, TEACHER_RADIUS_BETA),
        .account = &account,
        .cost = query->cost};
    size_t size = 0;
    char *text = query_reply_write(&given, &size);
    return call_reply_bytes(call, 200, "application/json", text, size);
}

/* ---- asked before: "reuse":"exact" */

/* A key that no caller can send, because of its space: it stands for the request's very bytes. */
static void reuse_key(const struct call *call, char key[80], unsigned char hash[32])
{
    crypto_generichash_state state;
    const struct api_request *request = call->request;
    crypto_generichash_init(&state, NULL, 0, 32);
    crypto_generichash_update(&state, (const unsigned char *)request->path,
                              strlen(request->path) + 1);
    crypto_generichash_update(&state, request->body, request->body_size);
    crypto_generichash_final(&state, hash, 32);
    char hex[65];
    sodium_bin2hex(hex, sizeof hex, hash, 32);
    snprintf(key, 80, "reuse %s", hex);
}

static enum problem reuse_or_answer(struct query *query)
{
    struct call *call = query->call;
    char key[80];
    struct answer_row stored = {0};
    unsigned char hash[32];
    reuse_key(call, key, hash);
    enum db_status status = answers_find(call->db, call->caller.id, key, &stored);
    if (status == DB_OK) {
        return call_reply_bytes(call, 200, "application/json", stored.body, stored.body_size);
    }
    if (status != DB_NONE) {
        return call_db(call, status);
    }
    enum problem problem = answer(query);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    memcpy(stored.fingerprint, hash, sizeof stored.fingerprint);
    stored.status = 200;
    snprintf(stored.content_type, sizeof stored.content_type, "application/json");
    stored.body = call->reply->body;
    stored.body_size = call->reply->body_size;
    stored.created_ms = call->now_ms;
    status = answers_store(call->db, call->caller.id, key, &stored);
    return status == DB_OK ? PROBLEM_NONE : call_db(call, status == DB_NONE ? DB_FAILED : status);
}

/* A query in the call's arena, with its teacher on loan. */
static enum problem start(struct call *call, struct query **out)
{
    struct query *query = arena_array(&call->arena, 1, sizeof *query);
    if (query == NULL) {
        return PROBLEM_INTERNAL_ERROR;
    }
    query->call = call;
    *out = query;
    return find_teacher(query);
}

enum problem api_queries_ask(struct call *call)
{
    struct query *query = NULL;
    enum problem problem = start(call, &query);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    if (!read_body(query)) {
        return call_error_count(call) > 0 ? PROBLEM_VALIDATION : PROBLEM_INTERNAL_ERROR;
    }
    if ((problem = teacher_standing_of_call(call, &query->teacher->row, &query->standing)) !=
            PROBLEM_NONE ||
        (problem = set_price(query)) != PROBLEM_NONE) {
        return problem;
    }
    return query->reuse == 0 ? reuse_or_answer(query) : answer(query);
}

/* ---- without paying */

enum problem api_queries_estimate(struct call *call)
{
    struct query *query = NULL;
    enum problem problem = start(call, &query);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    int64_t count = 0;
    int paper = -1; /* not asked for */
    const struct field fields[] = {
        field_integer("count", &count, 1, ESTIMATE_COUNT_MAX),
        field_optional(field_positive("concentration", &query->wished_concentration, 1e12)),
        field_optional(field_choice("accounting", &paper, accountings)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0])) {
        return PROBLEM_VALIDATION;
    }
    if (paper >= 0 && query->teacher->teacher.mechanism != &teacher_dirichlet) {
        return call_invalid(call, "/accounting", "is known of dirichlet teachers alone");
    }
    query->count = (uint32_t)count;
    const struct teacher_row *row = &query->teacher->row;
    if ((problem = set_price(query)) != PROBLEM_NONE) {
        return problem;
    }
    struct ledger_account cap;
    enum db_status status = ledger_find(call->db, row->account, &cap);
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    bool client = row->has_client_budget;
    double epsilon = client ? row->client_epsilon : cap.epsilon;
    double delta = client ? row->client_delta : cap.delta;
    const struct filter_price *cost = &query->cost;
    struct filter fresh, all = {.limit_units = cap.limit_units, .limit_delta = cap.limit_delta};
    bool feasible = teacher_account(row, epsilon, delta, &fresh) && filter_spend(&fresh, cost) &&
                    filter_spend(&all, cost);
    double used = row->renyi_order > 0 ? delta : ledger_delta_value(cost->delta_units);
    json_t *reply =
        json_pack("{s:b, s:o}", "feasible", (int)feasible, "cost",
                  budget_amount(filter_epsilon(row->renyi_order, cost->units, delta), used));
    reply = rollout_reply(reply, query->concentration);
    const struct filter_price each = {cost->units / count, cost->delta_units / count};
    bool good = reply != NULL &&
                query_estimate_errors(reply, query->teacher, query->concentration, &each) &&
                (paper < 0 ||
                 query_estimate_paper(reply, query->teacher, query->concentration, count, delta));
    if (!good) {
        json_decref(reply);
        reply = NULL;
    }
    return call_reply_json(call, 200, reply);
}
