/* Asking a teacher: the service's own form. The reply is written by hand, see query.c. */
#include "api/teachers/queries.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/budget.h"
#include "api/call/fields.h"
#include "api/call/state_scan.h"
#include "api/call/states_json.h"
#include "api/teachers/query_estimate.h"
#include "api/teachers/query_prepare.h"
#include "api/teachers/rollouts.h"
#include "api/teachers/teachers.h"
#include "storage/answers/answers.h"

#define ESTIMATE_COUNT_MAX 1000000000

static const char *const reuses[] = {"exact", NULL};
static const char *const accountings[] = {"paper", NULL};

/* The states of a body that holds nothing else; false: the body must be read in full. */
static bool queries_take_states(struct query *query)
{
    struct call *call = query->call;
    const struct state_scan *scanned = call->state;
    if (!scanned || scanned->dim != query->teacher->state_dim ||
        (scanned->batch && scanned->count > query_states_max(query)))
        return false;
    size_t numbers = (size_t)scanned->count * scanned->dim;
    query->states = arena_alloc(&call->arena, numbers * sizeof(float));
    query->count = scanned->count;
    query->batch = scanned->batch;
    bool good = query->states != NULL;
    for (size_t i = 0; good && i < numbers; i++) {
        query->states[i] = (float)scanned->numbers[i];
        good = isfinite(query->states[i]);
    }
    return good;
}

/* *out_reuse: 0 for "exact", -1 when it was not sent. */
static bool queries_read_body(struct query *query, int *out_reuse)
{
    struct call *call = query->call;
    json_t *state = NULL, *states = NULL;
    *out_reuse = -1;
    if (queries_take_states(query))
        return true;
    if (!call->body && call_parse_body(call) != PROBLEM_NONE)
        return false;
    const struct field fields[] = {
        field_optional(field_any("state", &state)),
        field_optional(field_any("states", &states)),
        field_optional(field_positive("concentration", &query->wished_concentration, 1e12)),
        field_optional(field_positive("max_epsilon", &query->max_epsilon, 1e9)),
        field_optional(field_choice("reuse", out_reuse, reuses)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]))
        return false;
    if ((!state) == (states == NULL)) {
        call_invalid(call, "", "must have either state or states");
        return false;
    }
    uint32_t dim = query->teacher->state_dim;
    query->batch = states != NULL;
    if (query->batch)
        return query_read_states(query, states);
    query->count = 1;
    query->states = arena_array(&call->arena, dim, sizeof(float));
    return query->states && state_read(call, state, "/state", dim, query->states);
}

static enum problem queries_answer(struct query *query)
{
    struct query_answer given;
    enum problem problem = query_settle(query, &given);
    if (problem != PROBLEM_NONE)
        return problem;
    size_t size = 0;
    char *text = query_reply_write(&given, &size);
    return call_reply_bytes(query->call, 200, "application/json", text, size);
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
    if (status == DB_OK)
        return call_reply_bytes(call, 200, "application/json", stored.body, stored.body_size);
    if (status != DB_NONE)
        return call_db(call, status);
    enum problem problem = queries_answer(query);
    if (problem != PROBLEM_NONE)
        return problem;
    memcpy(stored.fingerprint, hash, sizeof stored.fingerprint);
    stored.status = 200;
    snprintf(stored.content_type, sizeof stored.content_type, "application/json");
    stored.body = call->reply->body;
    stored.body_size = call->reply->body_size;
    stored.created_ms = call->now_ms;
    status = answers_store(call->db, call->caller.id, key, &stored);
    return status == DB_OK ? PROBLEM_NONE : call_db(call, status);
}

/* Whether reuse_or_answer will find an answer. */
static bool is_stored(const struct call *call)
{
    char key[80];
    struct answer_row stored = {0};
    unsigned char hash[32];
    reuse_key(call, key, hash);
    bool found = answers_find(call->db, call->caller.id, key, &stored) == DB_OK;
    answer_done(&stored);
    return found;
}

enum problem api_queries_prepare(struct call *call)
{
    struct query *query = NULL;
    int reuse = -1;
    enum problem problem = query_start(call, &query);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!queries_read_body(query, &reuse))
        return PROBLEM_VALIDATION;
    return reuse == 0 && is_stored(call) ? PROBLEM_NONE : query_prepare(query);
}

enum problem api_queries_ask(struct call *call)
{
    struct query *query = NULL;
    int reuse = -1;
    enum problem problem = query_start(call, &query);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!queries_read_body(query, &reuse))
        return call_error_count(call) > 0 ? PROBLEM_VALIDATION : PROBLEM_INTERNAL_ERROR;
    if ((problem = teacher_standing_of_call(call, &query->teacher->row, &query->standing)) !=
            PROBLEM_NONE ||
        (problem = query_set_price(query)) != PROBLEM_NONE)
        return problem;
    return reuse == 0 ? reuse_or_answer(query) : queries_answer(query);
}

/* ---- without paying */

static bool estimate_read_budget(struct call *call, const json_t *object, double *out_epsilon,
                                 double *out_delta)
{
    const struct field fields[] = {
        field_positive("epsilon", out_epsilon, 1e6),
        field_positive("delta", out_delta, 0.5),
    };
    return fields_read(call, object, "/budget", fields, 2);
}

/* Lets *FEASIBLE stand when the dataset's account, as it is now, can pay for them all. */
static enum db_status dataset_pays(const struct query *query, const struct ledger_account *cap,
                                   bool *feasible)
{
    const struct teacher_row *row = &query->teacher->row;
    struct ledger_account account;
    enum db_status status = ledger_find(query->call->db, row->dataset_account, &account);
    if (status == DB_OK) {
        bool first = cap->spent_units == 0;
        int64_t left = account.limit_units - account.spent_units - account.held_units;
        int64_t left_delta = account.limit_delta - account.spent_delta - account.held_delta;
        *feasible = *feasible && query->cost.units <= left - (first ? row->first_units : 0) &&
                    query->cost.delta_units <= left_delta - (first ? row->first_delta : 0);
    }
    return status;
}

/* What an estimate is asked for. */
struct wish {
    int64_t count;
    int paper;      /* index of the accounting; -1: not asked for */
    json_t *budget; /* NULL: the client's own */
    double epsilon, delta;
};

static enum problem estimate_read_wish(struct query *query, struct wish *out)
{
    struct call *call = query->call;
    *out = (struct wish){.paper = -1};
    const struct field fields[] = {
        field_integer("count", &out->count, 1, ESTIMATE_COUNT_MAX),
        field_optional(field_positive("concentration", &query->wished_concentration, 1e12)),
        field_optional(field_choice("accounting", &out->paper, accountings)),
        field_optional(field_object("budget", &out->budget)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]))
        return PROBLEM_VALIDATION;
    if (out->paper >= 0 && query->teacher->teacher.mechanism != &teacher_dirichlet)
        return call_invalid(call, "/accounting", "is known of dirichlet teachers alone");
    query->count = (uint32_t)out->count;
    return query_set_price(query);
}

static json_t *estimate_json(const struct query *query, const struct wish *wish, bool feasible)
{
    const struct teacher_row *row = &query->teacher->row;
    const struct filter_price *cost = &query->cost;
    const struct filter_price each = {cost->units / wish->count, cost->delta_units / wish->count};
    double delta = wish->delta;
    double used = row->renyi_order > 0 ? delta : ledger_delta_value(cost->delta_units);
    json_t *reply =
        json_pack("{s:b, s:o}", "feasible", (int)feasible, "cost",
                  budget_amount(filter_epsilon(row->renyi_order, cost->units, delta), used));
    reply = rollout_reply(reply, query->concentration);
    int64_t buys = teacher_answers_in(row, wish->epsilon, delta, &each);
    bool good =
        reply && json_object_set_new(reply, "queries_in_budget", json_integer(buys)) == 0 &&
        query_estimate_errors(reply, query->teacher, query->concentration, &each) &&
        query_estimate_mechanisms(reply, query->teacher, wish->count, wish->epsilon, delta) &&
        (wish->paper < 0 ||
         query_estimate_paper(reply, query->teacher, query->concentration, wish->count, delta));
    if (!good) {
        json_decref(reply);
        return NULL;
    }
    return reply;
}

enum problem api_queries_estimate(struct call *call)
{
    struct query *query = NULL;
    struct wish wish;
    enum problem problem = query_start(call, &query);
    if (problem != PROBLEM_NONE || (problem = estimate_read_wish(query, &wish)) != PROBLEM_NONE)
        return problem;
    const struct teacher_row *row = &query->teacher->row;
    struct ledger_account cap;
    enum db_status status = ledger_find(call->db, row->account, &cap);
    if (status != DB_OK)
        return call_db(call, status);
    bool client = row->has_client_budget;
    wish.epsilon = client ? row->client_epsilon : cap.epsilon;
    wish.delta = client ? row->client_delta : cap.delta;
    if (wish.budget && !estimate_read_budget(call, wish.budget, &wish.epsilon, &wish.delta))
        return PROBLEM_VALIDATION;
    struct filter fresh, all = {.limit_units = cap.limit_units, .limit_delta = cap.limit_delta};
    bool feasible = teacher_account(row, wish.epsilon, wish.delta, &fresh) &&
                    filter_spend(&fresh, &query->cost) && filter_spend(&all, &query->cost);
    if (row->dataset_account[0] != '\0')
        status = dataset_pays(query, &cap, &feasible);
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(call, 200, estimate_json(query, &wish, feasible));
}
