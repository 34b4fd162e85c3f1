/* Serves one request after its route is known.
 *
 * DESIGN. Everything before the handler only reads the request. The checks come in the order in
 * which a stranger should learn their results: the right to call, then the form, then the content.
 * A handler that changes something runs inside one transaction (a savepoint when the committer's
 * batch is open) together with the store of answers, so that a problem changes nothing and no
 * answer is stored without its effect. It is changed only if the caller is still known in this
 * transaction, with the projects that it has by then: to prepare, or to wait for other writers, may
 * take long. */
#include "api/call/call_serve.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/call/accept.h"
#include "api/call/app.h"
#include "api/call/auth.h"
#include "api/call/fields.h"
#include "api/call/idempotency.h"
#include "api/call/outsider.h"
#include "api/call/project.h"
#include "api/call/reply.h"
#include "api/call/uri.h"
#include "api/json/json_text.h"
#include "api/json/near_name.h"
#include "api/json/text.h"
#include "storage/jobs.h"
#include "storage/refusals.h"

struct change {
    struct call *call;
    const char *client; /* as of call_serve */
    const char *key;
    bool outside; /* who calls was found out before this transaction */
    bool replayed;
    enum problem problem;
};

/* ---- the audit trail */

/* Copies an identifier, a number or a digest. What else a path may name stays out of the trail. */
static void copy_word(char *out, size_t size, const char *word)
{
    size_t length = strspn(word, TRAIL_LETTERS);
    if (word[length] == '\0' && length < size)
        memcpy(out, word, length + 1);
}

/* The last part of the answer's Location; "" without one. */
static const char *made_thing(const struct call *call)
{
    const char *location = reply_header_value(call->reply, "Location");
    const char *slash = strrchr(text_or_empty(location), '/');
    return slash ? slash + 1 : "";
}

/* What the path has for {NAME}; NULL: it has none, or was not read because a pass was shown. */
static const char *path_value(const struct call *call, const char *name)
{
    char braced[16];
    snprintf(braced, sizeof braced, "{%s}", name);
    if (call->match.value_count == 0 || !strstr(call->route->pattern, braced))
        return NULL;
    return call_parameter(call, name);
}

/* The second thing that the call is about. */
static const char *call_subject(const struct call *call)
{
    static const char *const names[] = {"client", "token", "sha256"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (path_value(call, names[i]))
            return path_value(call, names[i]);
    if (call->subject)
        return call->subject;
    return made_thing(call);
}

static void copy_address(char *out, size_t size, const struct sockaddr *from)
{
    const void *at = from;
    if (from && from->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)at)->sin_addr, out, (socklen_t)size);
    else if (from && from->sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)at)->sin6_addr, out,
                        (socklen_t)size);
}

void call_trail_row(struct call *call, struct trail_row *out)
{
    const struct route *route = call->route;
    const char *id = path_value(call, "id");
    *out = (struct trail_row){
        .time_ms = call->now_ms, .actor = "client", .token = call->caller.token, .count = 1};
    memcpy(out->client, call->caller.id, sizeof out->client);
    snprintf(out->role, sizeof out->role, "%s", role_name(call->caller.role));
    snprintf(out->action, sizeof out->action, "%s %s", route->method, route->pattern);
    snprintf(out->request, sizeof out->request, "%s", call->request->request_id);
    copy_address(out->address, sizeof out->address, call->request->address);
    const char *subject = id ? call_subject(call) : call->subject;
    copy_word(out->subject, sizeof out->subject, text_or_empty(subject));
    if (id && strcmp(id, "me") == 0)
        id = call->caller.id;
    if (!id)
        id = made_thing(call);
    copy_word(out->resource, sizeof out->resource, id);
}

/* Appends the change, in its transaction. */
static enum problem append_change(struct call *call)
{
    struct trail_row row;
    call_trail_row(call, &row);
    row.status = call->reply->status;
    snprintf(row.outcome, sizeof row.outcome, "ok");
    return call_db(call, trail_append(call->db, &row));
}

void call_serve_refused(struct call *call, enum problem problem)
{
    struct trail_row row;
    bool no_right = problem == PROBLEM_FORBIDDEN || problem == PROBLEM_INSUFFICIENT_SCOPE;
    if (call->caller.id[0] == '\0' || !(no_right || route_in_trail(call->route)))
        return;
    call_trail_row(call, &row);
    row.status = problem_info(problem)->status;
    snprintf(row.outcome, sizeof row.outcome, "%s", problem_info(problem)->slug);
    refusals_note(call->app->refusals, &row);
}

/* ---- the handler */

static enum problem handle_call(struct call *call)
{
    enum problem problem = call->route->handle(call);
    assert(problem != PROBLEM_NONE || call->answered);
    return problem;
}

/* Answers with the stored answer of KEY, or runs the handler and stores its answer. */
static enum problem replay_or_handle(struct call *call, const char *key)
{
    bool replayed = false;
    enum problem problem = key ? idempotency_replay(call, key, &replayed) : PROBLEM_NONE;
    if (problem != PROBLEM_NONE || replayed)
        return problem;
    problem = handle_call(call);
    if (problem == PROBLEM_NONE && key)
        problem = idempotency_store(call, key);
    if (problem == PROBLEM_NONE && route_in_trail(call->route))
        problem = append_change(call);
    return problem;
}

/* A job asks only as long as its worker has it: a question after that would charge for a job that
 * has ended. */
static enum problem check_claim(struct call *call)
{
    if (!call->job)
        return PROBLEM_NONE;
    enum db_status status = jobs_have(call->db, call->job, call->worker);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_CONFLICT, "The job has ended, or another worker has it.");
    return status == DB_OK ? PROBLEM_NONE : call_db(call, status);
}

static enum problem check_caller(struct call *call, const char *client)
{
    if (call->route->roles == ROLE_NONE)
        return PROBLEM_NONE;
    enum problem problem = client ? auth_known(call, client) : auth_check(call);
    if (problem == PROBLEM_NONE && call->newcomer)
        problem = outsider_enroll(call);
    if (problem == PROBLEM_NONE)
        problem = check_claim(call);
    if (problem == PROBLEM_NONE)
        problem = project_read_all(call);
    return problem;
}

/* Runs the handler once in a transaction. DB_NONE: it refused the call; its changes are rolled
 * back, and the database did not fail. */
static enum db_status try_handler(struct db *db, void *context)
{
    struct change *change = context;
    struct call *call = change->call;
    (void)db;
    call_reset(call);
    call->db_failure = DB_OK;
    change->problem = change->outside ? check_caller(call, change->client) : PROBLEM_NONE;
    if (change->problem == PROBLEM_NONE)
        change->problem = replay_or_handle(call, change->key);
    if (change->problem == PROBLEM_NONE)
        return DB_OK;
    if (call->db_failure != DB_OK)
        return (enum db_status)call->db_failure;
    return DB_NONE;
}

static enum problem run_change(struct call *call, const char *client, const char *key)
{
    struct change change = {
        .call = call, .client = client, .key = key, .outside = !db_in_transaction(call->db)};
    enum db_status status = db_transact(call->db, try_handler, &change);
    if (status == DB_OK || (status == DB_NONE && change.problem != PROBLEM_NONE))
        return change.problem;
    return call_db(call, status);
}

static enum db_status try_replay(struct db *db, void *context)
{
    struct change *change = context;
    (void)db;
    call_reset(change->call);
    change->call->db_failure = DB_OK;
    change->replayed = false;
    change->problem = idempotency_replay(change->call, change->key, &change->replayed);
    return (enum db_status)change->call->db_failure;
}

/* Answers with the stored answer of KEY, if there is one. It leaves after a commit: a database with
 * a standby may show what only a commit makes sure of (driver_postgres.c). */
static enum problem replay_durably(struct call *call, const char *key, bool *out_replayed)
{
    struct change change = {.call = call, .key = key};
    enum problem problem = idempotency_replay(call, key, out_replayed);
    if (problem != PROBLEM_NONE || !*out_replayed)
        return problem;
    enum db_status status = db_transact(call->db, try_replay, &change);
    *out_replayed = change.replayed;
    return status == DB_OK ? change.problem : call_db(call, status);
}

/* True when PREPARE has to run. On a heavy route PREPARE may compute for long, so it is left out
 * within the committer's batch. */
static bool has_to_prepare(const struct call *call)
{
    const struct route *route = call->route;
    return route->prepare && !((route->flags & ROUTE_HEAVY) && db_in_transaction(call->db));
}

/* A repeat must get its stored answer even if PREPARE would fail by now. */
static enum problem replay_unprepared(struct call *call, const char *client, const char *key,
                                      bool *out_replayed)
{
    bool streams = call->route->body == BODY_STREAM, stored = key != NULL;
    enum problem problem = streams ? idempotency_begin_body(call, key, &stored) : PROBLEM_NONE;
    if (problem == PROBLEM_NONE && stored && streams)
        problem = check_caller(call, client); /* again: the body may have taken long */
    if (problem != PROBLEM_NONE || !stored)
        return problem;
    problem = replay_durably(call, key, out_replayed);
    if (problem == PROBLEM_NONE && !*out_replayed && streams)
        return call_db(call, DB_RETRY); /* the answer is gone, and the body was read */
    return problem;
}

static enum problem run_call(struct call *call, const char *client, const char *key)
{
    const struct route *route = call->route;
    bool replayed = false;
    if (has_to_prepare(call)) {
        enum problem problem = replay_unprepared(call, client, key, &replayed);
        if (problem != PROBLEM_NONE || replayed)
            return problem;
        problem = route->prepare(call);
        assert(!call->answered);
        if (problem != PROBLEM_NONE)
            return problem;
    }
    if (route_writes(route))
        return run_change(call, client, key);
    return handle_call(call);
}

/* ---- the form */

#define QUERY_NAMES_MOST 16

/* Every query parameter is known to the route and given once. */
static enum problem request_check_query(struct call *call)
{
    const char *query = call->request->query;
    if (*query == '\0')
        return PROBLEM_NONE;
    const char *name = NULL;
    switch (uri_query_check(query, call->route->query, &call->arena, &name)) {
    case URI_QUERY_GOOD: return PROBLEM_NONE;
    case URI_QUERY_MALFORMED:
        return call_problem(call, PROBLEM_BAD_REQUEST, "The query has a broken escape.");
    case URI_QUERY_TWICE: return call_invalid_query(call, name, "is given twice");
    case URI_QUERY_UNKNOWN: break;
    }
    if (call->route->query[0] == '\0')
        return call_invalid_query(call, name, "is not known: this endpoint takes no parameters");
    char words[200], hint[NEAR_HINT_SIZE], *rest = NULL;
    const char *names[QUERY_NAMES_MOST];
    unsigned count = 0;
    snprintf(words, sizeof words, "%s", call->route->query);
    for (char *word = strtok_r(words, " ", &rest); word && count < QUERY_NAMES_MOST;
         word = strtok_r(NULL, " ", &rest))
        names[count++] = word;
    return call_invalid_query(call, name, "is not known; this endpoint takes: %s%s",
                              call->route->query, near_hint(name, names, count, hint));
}

/* application/json, with parameters of which charset may only be UTF-8. */
static bool is_json_type(const char *type)
{
    static const char json[] = "application/json";
    if (!type || strncasecmp(type, json, sizeof json - 1) != 0)
        return false;
    const char *rest = type + sizeof json - 1;
    rest += strspn(rest, " \t");
    if (*rest != ';' && *rest != '\0')
        return false;
    const char *charset = strcasestr(rest, "charset=");
    return !charset || strncasecmp(charset + 8, "utf-8", 5) == 0 ||
           strncasecmp(charset + 8, "\"utf-8\"", 7) == 0;
}

static enum problem parse_body(struct call *call)
{
    struct json_fault fault;
    const struct api_request *request = call->request;
    enum json_text_status status =
        json_text_parse((const char *)request->body, request->body_size, &call->body, &fault);
    if (status == JSON_TEXT_GOOD)
        return PROBLEM_NONE;
    if (status == JSON_TEXT_INVALID)
        return call_invalid(call, fault.pointer, "%s", fault.detail);
    if (status == JSON_TEXT_TOO_LARGE)
        return call_problem(call, PROBLEM_BODY_TOO_LARGE, "%s", fault.detail);
    return call_problem(call, PROBLEM_NOT_JSON, "%s", fault.detail);
}

/* Parses the body into call->body. A streamed body is not read here. */
static enum problem request_read_body(struct call *call)
{
    const struct api_request *request = call->request;
    if (call->route->body == BODY_STREAM ||
        (call->route->body == BODY_NONE && request->body_size == 0))
        return PROBLEM_NONE;
    const char *encoding = call_request_header(call, "Content-Encoding");
    if (encoding && strcasecmp(encoding, "identity") != 0) {
        return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                            "This endpoint takes no Content-Encoding; uploads do.");
    }
    if (request->body_size > 0 && !is_json_type(call_request_header(call, "Content-Type"))) {
        return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                            "The body must be sent as Content-Type: application/json.");
    }
    enum problem problem = parse_body(call);
    if (problem == PROBLEM_NONE && call->route->body == BODY_NONE &&
        !fields_read(call, call->body, "", NULL, 0))
        return PROBLEM_VALIDATION;
    return problem;
}

/* Reads query, body and idempotency key. A key in the body is looked for after the body was parsed.
 */
static enum problem check_form(struct call *call, const char **out_key)
{
    bool key_in_body = call->route->flags & ROUTE_KEY_OR_ID;
    enum problem problem = request_check_query(call);
    if (problem == PROBLEM_NONE && !key_in_body)
        problem = idempotency_key(call, out_key);
    if (problem == PROBLEM_NONE)
        problem = request_read_body(call);
    if (problem == PROBLEM_NONE && key_in_body)
        problem = idempotency_key(call, out_key);
    return problem;
}

static enum problem serve_known(struct call *call, const char *client)
{
    const char *key = NULL;
    enum problem problem = check_caller(call, client);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!(call->route->flags & ROUTE_ANY_ACCEPT) &&
        !accept_allows_json(call_request_header(call, "Accept"))) {
        return call_problem(call, PROBLEM_NOT_ACCEPTABLE,
                            "This endpoint answers application/json.");
    }
    problem = check_form(call, &key);
    if (problem != PROBLEM_NONE)
        return problem;
    return project_judge(call, run_call(call, client, key));
}

enum problem call_serve(struct call *call, const char *client)
{
    enum problem problem = serve_known(call, client);
    if (problem != PROBLEM_NONE)
        call_serve_refused(call, problem);
    return problem;
}
