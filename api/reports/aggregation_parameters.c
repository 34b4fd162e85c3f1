/* Serves agents the parameters of an aggregation and the terms of their next report. */
#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/gradient_collection.h"
#include "api/call/accept.h"
#include "api/json/json_text.h"
#include "api/reports/aggregations.h"
#include "memory/memory.h"

void aggregation_report_seed(const char *aggregation, const char *client, int64_t number,
                             unsigned char out[LOCAL_SEED_SIZE])
{
    char text[2 * ID_SIZE + 32];
    int length = snprintf(text, sizeof text, "%s %s %lld", aggregation, client, (long long)number);
    assert(length > 0 && (size_t)length < sizeof text);
    crypto_generichash(out, LOCAL_SEED_SIZE, (const unsigned char *)text, (size_t)length, NULL, 0);
}

float *aggregation_load_parameters(struct call *call, const struct aggregation *a,
                                   enum db_status *out_status)
{
    void *bytes = NULL;
    size_t size = 0, count = actor_critic_count(&a->net);
    *out_status = aggregations_parameters(call->db, a->row.id, &bytes, &size);
    float *out = NULL;
    if (*out_status == DB_NONE || (*out_status == DB_OK && size != count * sizeof *out))
        *out_status = DB_FAILED;
    if (*out_status == DB_OK)
        out = memcpy(arena_array(&call->arena, count, sizeof *out), bytes, size);
    free(bytes);
    return out;
}

/* Adds an agent's number of remaining reports and the seed of the next. */
static void add_standing(struct call *call, const struct aggregation *a, int64_t sent, json_t *json)
{
    unsigned char seed[LOCAL_SEED_SIZE];
    char hex[2 * LOCAL_SEED_SIZE + 1];
    aggregation_report_seed(a->row.id, call->caller.id, sent + 1, seed);
    sodium_bin2hex(hex, sizeof hex, seed, sizeof seed);
    json_object_set_new(json, "reports_left", json_integer(a->row.submissions_per_agent - sent));
    json_object_set_new(json, "report_seed", json_string(hex));
}

static json_t *aggregation_parameters_json(struct call *call, const struct aggregation *a,
                                           const float *parameters, int64_t sent)
{
    const struct collection_exploration exploration = {a->row.exploration,
                                                       a->row.exploration_decay};
    json_t *list = json_array();
    size_t count = actor_critic_count(&a->net);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_real((double)parameters[i]));
    json_t *json =
        json_pack("{s:I, s:s, s:o, s:o}", "version", (json_int_t)a->row.version, "state",
                  aggregation_state(a), "parameters", list, "exploration",
                  json_number(collection_explore(&exploration, (uint64_t)a->row.reports)));
    if (call_is(call, ROLE_AGENT))
        add_standing(call, a, sent, json);
    return json;
}

struct parameters_work {
    struct call *call;
    struct aggregation a;
    int64_t sent; /* by the agent that asks */
    float *parameters;
    enum problem problem;
};

/* All in one view: an update between two reads would give a version the parameters of the next. */
static enum db_status read_present(struct db *db, void *context)
{
    struct parameters_work *work = context;
    struct call *call = work->call;
    enum db_status status = DB_OK;
    work->problem = aggregation_of_call(call, &work->a);
    if (work->problem != PROBLEM_NONE)
        return DB_OK;
    if (call_is(call, ROLE_AGENT))
        status = aggregations_agent(db, work->a.row.id, call->caller.id, &work->sent);
    if (status == DB_OK)
        work->parameters = aggregation_load_parameters(call, &work->a, &status);
    return status;
}

enum problem api_aggregations_parameters(struct call *call)
{
    struct parameters_work work = {.call = call, .problem = PROBLEM_NONE};
    enum db_status status = db_view(call->db, read_present, &work);
    if (work.problem != PROBLEM_NONE)
        return work.problem;
    if (status != DB_OK)
        return call_db(call, status);
    const char *accept = call_request_header(call, "Accept");
    bool bytes = accept && accept_quality(accept, "application", "octet-stream") >
                               accept_quality(accept, "application", "json");
    if (!bytes && !accept_allows_json(accept)) {
        return call_problem(call, PROBLEM_NOT_ACCEPTABLE,
                            "Parameters come as application/json or application/octet-stream.");
    }
    call_header(call, "ETag", "\"%lld\"", (long long)work.a.row.version);
    if (!bytes) {
        return call_reply_json(
            call, 200, aggregation_parameters_json(call, &work.a, work.parameters, work.sent));
    }
    /* float32, little-endian: as they lie in memory, which is all that is built for. */
    size_t size = actor_critic_count(&work.a.net) * sizeof *work.parameters;
    char *copy = memory_copy(work.parameters, size);
    return call_reply_bytes(call, 200, "application/octet-stream", copy, size);
}
