/* Asking a teacher: the service's own form. */
#include "api/teachers/queries.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/commitment.h"
#include "api/call/fields.h"
#include "api/call/retention.h"
#include "api/teachers/query_prepare.h"
#include "api/teachers/teachers.h"
#include "storage/answers/answers.h"
#include "storage/answers/key_date.h"

static const char *const reuses[] = {"exact", NULL};

/* Refuses "reuse" where the observation asked is what is protected. An answer that is given again
 * without noise and without a charge shows that the same observation was asked again. */
static bool reuse_is_offered(struct query *query)
{
    if (query->teacher->row.shards > 0)
        return true;
    call_invalid(
        query->call, "/reuse",
        "is only for teachers of unit \"expert\": here the first answer, given again, would "
        "show that the same observation was asked twice, which this teacher protects; ask "
        "without it, and repeat a call under its own Idempotency-Key for its stored answer");
    return false;
}

/* *out_reuse: 0 for "exact", -1 when it was not sent. */
static bool queries_read_body(struct query *query, int *out_reuse)
{
    struct call *call = query->call;
    json_t *state = NULL, *states = NULL;
    *out_reuse = -1;
    const struct field fields[] = {
        field_optional(field_any("state", &state)),
        field_optional(field_any("states", &states)),
        field_optional(field_positive("concentration", &query->wished_concentration, 1e12)),
        field_optional(field_positive("max_epsilon", &query->max_epsilon, 1e9)),
        field_optional(field_choice("reuse", out_reuse, reuses)),
    };
    if (!fields_read(call, call->body, "", fields, sizeof fields / sizeof fields[0]))
        return false;
    if (!state == !states) {
        call_invalid(call, "", "must have either state or states");
        return false;
    }
    if (*out_reuse == 0 && !reuse_is_offered(query))
        return false;
    uint32_t dim = query->teacher->state_dim;
    query->batch = states != NULL;
    if (query->batch)
        return query_read_states(query, states);
    query->count = 1;
    query->states = arena_array(&call->arena, dim, sizeof(float));
    return state_read(call, state, "/state", dim, query->states);
}

/* Reads the call's question; as queries_read_body. */
static enum problem queries_start(struct call *call, struct query **query, int *out_reuse)
{
    enum problem problem = query_start(call, query);
    if (problem == PROBLEM_NONE && !queries_read_body(*query, out_reuse))
        return PROBLEM_VALIDATION;
    return problem;
}

static enum problem queries_answer(struct query *query)
{
    struct query_answer given;
    enum problem problem = query_settle(query, &given);
    if (problem != PROBLEM_NONE)
        return problem;
    size_t size = 0;
    char *text = query_reply_text(&given, &size);
    if (text)
        query_reply_charge(query->call, &given, text);
    return call_reply_bytes(query->call, 200, "application/json", text, size);
}

/* ---- asked before: "reuse":"exact" */

#define REUSE_NAME_SIZE 80

/* What stands for the request's very bytes. */
struct reuse {
    unsigned char hash[32];
    char name[REUSE_NAME_SIZE], before[REUSE_NAME_SIZE]; /* the name now, and of earlier builds */
};

/* A name that no caller can send as a key, because of its space. */
static void reuse_name(const unsigned char hash[32], char out[REUSE_NAME_SIZE])
{
    char hex[65];
    sodium_bin2hex(hex, sizeof hex, hash, 32);
    snprintf(out, REUSE_NAME_SIZE, "reuse %s", hex);
}

static void reuse_of(const struct call *call, struct reuse *out)
{
    unsigned char plain[32];
    crypto_generichash_state state;
    const struct api_request *request = call->request;
    crypto_generichash_init(&state, NULL, 0, sizeof plain);
    crypto_generichash_update(&state, (const unsigned char *)request->path,
                              strlen(request->path) + 1);
    crypto_generichash_update(&state, request->body, request->body_size);
    crypto_generichash_final(&state, plain, sizeof plain);
    keyed_hash(call->app, "tacet: questions asked again, 1", plain, sizeof plain, out->hash,
               sizeof out->hash);
    reuse_name(out->hash, out->name);
    reuse_name(plain, out->before);
}

/* Finds what these bytes were answered. An answer is given again as long as answers are kept. */
static enum db_status find_asked(const struct call *call, const struct reuse *reuse,
                                 struct answer_row *out)
{
    const int64_t from_ms = retention_from(call);
    enum db_status status =
        answers_find_since(call->db, call->caller.id, reuse->name, from_ms, out);
    if (status == DB_NONE)
        status = answers_find_since(call->db, call->caller.id, reuse->before, from_ms, out);
    return status;
}

/* Stores the call's answer under NAME, with its date where answers are not kept for ever. */
static enum db_status store_asked(const struct call *call, const char *name,
                                  struct answer_row *answer)
{
    char key[ANSWER_KEY_SIZE];
    snprintf(key, sizeof key, "%s", name);
    if (call->app->settings.keep_answers_days > 0)
        key_date_name(name, call->now_ms, key);
    answer->status = 200;
    snprintf(answer->content_type, sizeof answer->content_type, "application/json");
    answer->body = call->reply->body;
    answer->body_size = call->reply->body_size;
    answer->created_ms = call->now_ms;
    return answers_store(call->db, call->caller.id, key, answer);
}

static enum problem reuse_or_answer(struct query *query)
{
    struct call *call = query->call;
    struct answer_row stored = {0};
    struct reuse reuse;
    reuse_of(call, &reuse);
    enum db_status status = find_asked(call, &reuse, &stored);
    if (status == DB_OK)
        return call_reply_bytes(call, 200, "application/json", stored.body, stored.body_size);
    if (status != DB_NONE)
        return call_db(call, status);
    enum problem problem = queries_answer(query);
    if (problem != PROBLEM_NONE || query->random) /* what is given again is a paid answer */
        return problem;
    memcpy(stored.fingerprint, reuse.hash, sizeof stored.fingerprint);
    return call_db(call, store_asked(call, reuse.name, &stored));
}

/* Whether reuse_or_answer will find an answer. */
static bool is_stored(const struct call *call)
{
    struct answer_row stored = {0};
    struct reuse reuse;
    reuse_of(call, &reuse);
    bool found = find_asked(call, &reuse, &stored) == DB_OK;
    answer_done(&stored);
    return found;
}

enum problem api_queries_prepare(struct call *call)
{
    struct query *query = NULL;
    int reuse = -1;
    enum problem problem = queries_start(call, &query, &reuse);
    if (problem != PROBLEM_NONE || (reuse == 0 && is_stored(call)))
        return problem;
    return query_prepare(query);
}

enum problem api_queries_ask(struct call *call)
{
    struct query *query = NULL;
    int reuse = -1;
    enum problem problem = queries_start(call, &query, &reuse);
    if (problem != PROBLEM_NONE || (problem = query_admit(query)) != PROBLEM_NONE)
        return problem;
    if (reuse == 0)
        return reuse_or_answer(query);
    return queries_answer(query);
}
