/* Receives agents' reports.
 *
 * DESIGN. A report is checked whole before anything changes; then one transaction debits the
 * agent's account, advances the counters, stores report and answer and, when the report fills the
 * buffer, makes the update. A repeat under the same key gets the stored bytes. A report too many is
 * refused by the agent's counter and by its account. */
#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/gradient_collection.h"
#include "algos/privacy/local/local_report.h"
#include "api/call/budget.h"
#include "api/call/charged.h"
#include "api/call/fields.h"
#include "api/call/refusal.h"
#include "api/json/json_text.h"
#include "api/reports/aggregations.h"
#include "storage/ledger/ledger.h"

#define BASE64     sodium_base64_VARIANT_ORIGINAL
#define EVENT_SIZE 128

/* ---- a report comes in */

struct submission {
    struct call *call;
    struct aggregation a;
    int64_t version;
    json_t *report;
    int64_t *values;      /* scheme.report_length */
    unsigned char *bytes; /* packed */
    size_t size;
    int64_t sent; /* reports that the agent sent before this one */
};

static void report_read_values(struct submission *s, const json_t *values)
{
    size_t length = s->a.scheme.report_length;
    if (json_array_size(values) != length) {
        call_invalid(s->call, "/report/values", "must have %zu integers", length);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        const json_t *value = json_array_get(values, i);
        if (!json_is_integer(value)) {
            char at[64];
            snprintf(at, sizeof at, "/report/values/%zu", i);
            call_invalid(s->call, at, "must be an integer");
            return;
        }
        s->values[i] = json_integer_value(value);
    }
}

static void report_read_bytes(struct submission *s, const char *text)
{
    size_t room = local_report_room(&s->a.scheme), size = 0;
    unsigned char *bytes = arena_alloc(&s->call->arena, room);
    bool good = sodium_base642bin(bytes, room, text, strlen(text), NULL, &size, NULL, BASE64) == 0;
    if (!good || local_report_unpack(&s->a.scheme, bytes, size, s->values) != LOCAL_OK) {
        call_invalid(s->call, "/report/bytes", "is not the base64 of a report of %zu integers",
                     s->a.scheme.report_length);
    }
}

/* True when the report's values are possible. A row of the projection comes with a sign bit, 0 or
 * 1, on which the packing relies. */
static bool is_possible(const struct submission *s)
{
    const struct local_scheme *scheme = &s->a.scheme;
    return scheme->mechanism->decode(scheme, NULL, s->values, NULL) == LOCAL_OK;
}

/* Reads the report. False: the faults are in the call. */
static bool report_read(struct submission *s)
{
    struct call *call = s->call;
    json_t *values = NULL;
    const char *text = NULL;
    size_t room = local_report_room(&s->a.scheme);
    const struct field fields[] = {
        field_optional(field_array("values", &values, 0, SIZE_MAX >> 12)),
        field_optional(field_text("bytes", &text, 1, sodium_base64_encoded_len(room, BASE64))),
    };
    s->values = arena_array(&call->arena, s->a.scheme.report_length, sizeof *s->values);
    s->bytes = arena_alloc(&call->arena, room);
    if (!fields_read(call, s->report, "/report", fields, 2))
        return false;
    if (!values == !text) {
        call_invalid(call, "/report", "must have either values or bytes");
        return false;
    }
    if (values)
        report_read_values(s, values);
    else
        report_read_bytes(s, text);
    if (call_error_count(call) > 0)
        return false;
    if (!is_possible(s)) {
        call_invalid(call, "/report", "is not a possible output of %s",
                     s->a.scheme.mechanism->name);
        return false;
    }
    s->size = local_report_pack(&s->a.scheme, s->values, s->bytes);
    return true;
}

static enum problem check_version(struct submission *s)
{
    int64_t now = s->a.row.version;
    if (s->version > now) {
        return call_invalid(s->call, "/version", "is not one yet: the present one is %lld",
                            (long long)now);
    }
    if (s->version < now && s->a.row.refuses_stale) {
        return call_problem(s->call, PROBLEM_STALE_VERSION,
                            "The parameters are at version %lld; nothing was counted.",
                            (long long)now);
    }
    return PROBLEM_NONE;
}

static enum problem submission_check(struct submission *s)
{
    struct call *call = s->call;
    const struct field fields[] = {
        field_integer("version", &s->version, 1, INT64_C(1) << 53),
        field_object("report", &s->report),
    };
    if (!fields_read(call, call->body, "", fields, 2))
        return PROBLEM_VALIDATION;
    if (!s->a.row.open)
        return call_problem(call, PROBLEM_AGGREGATION_CLOSED, "It takes no more reports.");
    enum db_status status = aggregations_agent(call->db, s->a.row.id, call->caller.id, &s->sent);
    if (status != DB_OK)
        return call_db(call, status);
    if (s->sent >= s->a.row.submissions_per_agent) {
        return call_problem(call, PROBLEM_ALREADY_REPORTED,
                            "All %lld reports of this agent were accepted before.",
                            (long long)s->a.row.submissions_per_agent);
    }
    enum problem problem = check_version(s);
    if (problem == PROBLEM_NONE && !report_read(s))
        return PROBLEM_VALIDATION;
    return problem;
}

/* ---- paying */

/* Finds the agent's account. The first report opens it with a limit that pays for all its reports.
 */
static enum db_status agent_account(struct submission *s, struct ledger_account *out)
{
    struct call *call = s->call;
    const struct aggregation_row *row = &s->a.row;
    enum db_status status = ledger_find_for(call->db, LEDGER_CLIENT, row->id, call->caller.id, out);
    if (status != DB_NONE)
        return status;
    const struct ledger_opening opening = {.kind = LEDGER_CLIENT,
                                           .resource = row->id,
                                           .client = call->caller.id,
                                           .owner = row->owner,
                                           .unit = "agent",
                                           .epsilon = row->epsilon,
                                           .limit_units =
                                               row->price_units * row->submissions_per_agent,
                                           .event = "{\"type\":\"NoOpDpEvent\"}",
                                           .now_ms = call->now_ms};
    status = ledger_open_account(call->db, &opening, out);
    if (status == DB_NONE)
        return DB_FAILED;
    return status;
}

static enum problem submission_pay(struct submission *s, struct ledger_outcome *out)
{
    struct call *call = s->call;
    struct ledger_account account;
    enum db_status status = agent_account(s, &account);
    if (status != DB_OK)
        return call_db(call, status);
    char epsilon[32], event[EVENT_SIZE];
    json_text_number(ledger_units_value(s->a.row.price_units), epsilon);
    snprintf(event, sizeof event, "{\"type\":\"EpsilonDeltaDpEvent\",\"epsilon\":%s,\"delta\":0}",
             epsilon);
    const struct ledger_charge charge = {.prices = {{account.id, s->a.row.price_units, 0}},
                                         .count = 1,
                                         .client = call->caller.id,
                                         .resource = s->a.row.id,
                                         .event = event,
                                         .now_ms = call->now_ms};
    status = ledger_debit(call->db, &charge, out);
    if (status != DB_OK)
        return call_db(call, status);
    if (out->verdict != LEDGER_OK)
        return refusal_make(call, out,
                            &(struct refusal_pieces){"reports", 1, {{s->a.row.price_units, 0}}});
    return PROBLEM_NONE;
}

/* ---- the update */

struct gathering {
    const struct aggregation *a;
    double *sum, *estimate; /* dimension each */
    int64_t *values;
    uint32_t reports;
    bool good;
};

static bool report_gather(void *context, const char *client, int64_t number, const void *bytes,
                          size_t size)
{
    struct gathering *g = context;
    const struct local_scheme *scheme = &g->a->scheme;
    unsigned char seed[LOCAL_SEED_SIZE];
    aggregation_report_seed(g->a->row.id, client, number, seed);
    g->good = local_report_unpack(scheme, bytes, size, g->values) == LOCAL_OK &&
              scheme->mechanism->decode(scheme, seed, g->values, g->estimate) == LOCAL_OK;
    for (uint32_t i = 0; g->good && i < scheme->parameters.dimension; i++)
        g->sum[i] += g->estimate[i];
    g->reports++;
    return g->good;
}

/* Updates the parameters with the waiting reports. */
static enum db_status aggregation_update(struct submission *s)
{
    struct call *call = s->call;
    struct gathering g = {.a = &s->a, .values = s->values, .good = true};
    g.sum = arena_array(&call->arena, s->a.scheme.parameters.dimension, sizeof *g.sum);
    g.estimate = arena_array(&call->arena, s->a.scheme.parameters.dimension, sizeof *g.estimate);
    enum db_status status = aggregations_waiting(call->db, s->a.row.id, report_gather, &g);
    if (status == DB_OK && (!g.good || g.reports == 0))
        status = DB_FAILED;
    float *parameters = NULL;
    if (status == DB_OK)
        parameters = aggregation_load_parameters(call, &s->a, &status);
    if (status != DB_OK)
        return status;
    collection_update(&s->a.net, parameters, g.sum, g.reports, s->a.row.learning_rate);
    return aggregations_update(call->db, &s->a.row, parameters,
                               actor_critic_count(&s->a.net) * sizeof *parameters);
}

enum problem api_aggregations_submit(struct call *call)
{
    struct submission *s = arena_array(&call->arena, 1, sizeof *s);
    s->call = call;
    struct ledger_outcome paid;
    enum problem problem = aggregation_of_call(call, &s->a);
    if (problem != PROBLEM_NONE || (problem = submission_check(s)) != PROBLEM_NONE ||
        (problem = submission_pay(s, &paid)) != PROBLEM_NONE)
        return problem;
    int64_t number = 0;
    enum db_status status = aggregations_accept(call->db, &s->a.row, call->caller.id, s->bytes,
                                                s->size, call->now_ms, &number);
    if (status == DB_OK && s->a.row.reports - s->a.row.applied >= s->a.row.buffer)
        status = aggregation_update(s);
    if (status != DB_OK) {
        if (status == DB_NONE) /* its reports were counted a moment ago in this very transaction */
            status = DB_RETRY;
        return call_db(call, status);
    }
    const struct ledger_account *account = &paid.parts[0].account;
    charged_show(call, &paid, false);
    return call_reply_json(
        call, 202,
        json_pack("{s:b, s:I, s:I, s:I, s:o, s:o}", "accepted", 1, "report", (json_int_t)number,
                  "version", (json_int_t)s->a.row.version, "reports_left",
                  (json_int_t)(s->a.row.submissions_per_agent - number), "spent",
                  budget_spent(account), "remaining", budget_remaining(account)));
}
