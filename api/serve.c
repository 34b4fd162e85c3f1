/* The way of one request: match, page or not, who asks, what form, run, answer.
 *
 * DESIGN. Everything up to the handler only reads the request, in the order in which a stranger
 * should learn things: the path exists, you may call it, your form is right, your content makes
 * sense. A handler that changes something runs inside one transaction (a savepoint when the
 * committer's batch is open) together with the store of answers, so that a problem leaves nothing
 * and an answer is never without its effect. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/accept.h"
#include "api/api.h"
#include "api/app.h"
#include "api/auth.h"
#include "api/call.h"
#include "api/fields.h"
#include "api/idempotency.h"
#include "api/json_text.h"
#include "api/pages.h"
#include "api/q_pass.h"
#include "api/reply.h"
#include "api/serve_as.h"
#include "api/state_scan.h"
#include "api/uri.h"
#include "storage/db.h"

/* A larger body of states is parsed like any other. */
#define SCANNED_BYTES    ((size_t)256 * 1024)

#define QUICK_BODY_BYTES 512 /* a question that takes microseconds */

struct api_route_info api_route(const struct app *app, const char *method, const char *path)
{
    struct route_match match;
    route_match(method, path, NULL, &match);
    struct api_route_info info = {.lane = API_LANE_INLINE,
                                  .max_body_bytes = app->settings.max_body_bytes,
                                  .pattern = "(none)"};
    const struct route *route = match.route;
    if (route == NULL) {
        return info;
    }
    info.lane = route->lane;
    info.writes = route_writes(route);
    info.quick = route->flags & ROUTE_QUICK;
    info.pattern = route->pattern;
    if (route->body == BODY_STREAM) {
        info.max_body_bytes = app->settings.max_upload_bytes;
    } else if (route->flags & ROUTE_POLICY_BODY) {
        info.max_body_bytes = app->settings.max_policy_bytes;
    }
    return info;
}

/* ---- finding the row */

static enum problem no_route(struct call *call)
{
    char allowed[128];
    route_allowed(call->request->path, allowed, sizeof allowed);
    if (allowed[0] == '\0') {
        return call_problem(call, PROBLEM_NOT_FOUND, "Nothing has this path.");
    }
    call_header(call, "Allow", "%s", allowed);
    return call_problem(call, PROBLEM_METHOD_NOT_ALLOWED, "This path knows %s.", allowed);
}

static enum problem answer_options(struct call *call)
{
    char allowed[128];
    route_allowed(call->request->path, allowed, sizeof allowed);
    if (allowed[0] == '\0') {
        return call_problem(call, PROBLEM_NOT_FOUND, "Nothing has this path.");
    }
    call_header(call, "Allow", "%s", allowed);
    if (cors_allows(call->app->settings.cors_origins, call_request_header(call, "Origin"))) {
        call_header(call, "Access-Control-Allow-Methods", "%s", allowed);
        call_header(call, "Access-Control-Allow-Headers",
                    "Authorization, Content-Type, Content-Encoding, Accept, Idempotency-Key, "
                    "If-Match, If-None-Match, Last-Event-ID, traceparent");
        call_header(call, "Access-Control-Max-Age", "600");
    }
    return call_reply_empty(call, 204);
}

/* ---- the form of the request */

static enum problem check_query(struct call *call)
{
    const char *query = call->request->query;
    if (*query == '\0') {
        return PROBLEM_NONE;
    }
    const char *name = NULL;
    switch (uri_query_check(query, call->route->query, &call->arena, &name)) {
    case URI_QUERY_GOOD:
        return PROBLEM_NONE;
    case URI_QUERY_MALFORMED:
        return call_problem(call, PROBLEM_BAD_REQUEST, "The query has a broken escape.");
    case URI_QUERY_TWICE:
        return call_invalid_query(call, name, "is given twice");
    case URI_QUERY_UNKNOWN:
        break;
    }
    if (call->route->query[0] == '\0') {
        return call_invalid_query(call, name, "is not known: this endpoint takes no parameters");
    }
    return call_invalid_query(call, name, "is not known; this endpoint takes: %s",
                              call->route->query);
}

/* application/json, with parameters of which charset may only be UTF-8. */
static bool is_json_type(const char *type)
{
    static const char json[] = "application/json";
    if (type == NULL || strncasecmp(type, json, sizeof json - 1) != 0) {
        return false;
    }
    const char *rest = type + sizeof json - 1;
    rest += strspn(rest, " \t");
    if (*rest != ';' && *rest != '\0') {
        return false;
    }
    const char *charset = strcasestr(rest, "charset=");
    return charset == NULL || strncasecmp(charset + 8, "utf-8", 5) == 0 ||
           strncasecmp(charset + 8, "\"utf-8\"", 7) == 0;
}

enum problem call_parse_body(struct call *call)
{
    struct json_fault fault;
    const struct api_request *request = call->request;
    enum problem problem =
        json_text_parse((const char *)request->body, request->body_size, &call->body, &fault);
    if (problem == PROBLEM_VALIDATION) {
        return call_invalid(call, fault.pointer, "%s", fault.detail);
    }
    return problem == PROBLEM_NONE ? problem : call_problem(call, problem, "%s", fault.detail);
}

/* Reads a body of states alone into call->state; false: it must be parsed. */
static bool scan_state(struct call *call)
{
    const struct api_request *request = call->request;
    if (request->body_size > SCANNED_BYTES) {
        return false;
    }
    struct state_scan *scanned = arena_alloc(&call->arena, sizeof *scanned);
    size_t room = STATE_SCAN_ROOM(request->body_size) * sizeof(double);
    if (scanned == NULL || (scanned->numbers = arena_alloc(&call->arena, room)) == NULL ||
        !state_scan(request->body, request->body_size, scanned)) {
        return false;
    }
    call->state = scanned;
    return true;
}

static enum problem read_body(struct call *call)
{
    const struct api_request *request = call->request;
    if (call->route->body == BODY_STREAM ||
        (call->route->body == BODY_NONE && request->body_size == 0)) {
        return PROBLEM_NONE;
    }
    const char *encoding = call_request_header(call, "Content-Encoding");
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0) {
        return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                            "This endpoint takes no Content-Encoding; uploads do.");
    }
    if (request->body_size > 0 && !is_json_type(call_request_header(call, "Content-Type"))) {
        return call_problem(call, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                            "The body must be sent as Content-Type: application/json.");
    }
    if ((call->route->flags & ROUTE_STATE_BODY) && scan_state(call)) {
        return PROBLEM_NONE;
    }
    enum problem problem = call_parse_body(call);
    if (problem == PROBLEM_NONE && call->route->body == BODY_NONE &&
        !fields_read(call, call->body, "", NULL, 0)) {
        return PROBLEM_VALIDATION;
    }
    return problem;
}

/* ---- running the handler */

enum problem call_db(struct call *call, enum db_status status)
{
    assert(status != DB_OK && status != DB_NONE);
    call->db_failure = (int)status;
    switch (status) {
    case DB_FULL:
        return PROBLEM_STORAGE_FULL;
    case DB_RETRY:
        return call_problem(call, PROBLEM_OVERLOADED, "Too many want to write at once. Try again.");
    default:
        return call_problem(call, PROBLEM_INTERNAL_ERROR, "The database failed.");
    }
}

struct change {
    struct call *call;
    const char *key;
    enum problem problem;
};

/* One try of the transaction. DB_NONE rolls it back without being a failure of the database. */
static enum db_status try_change(struct db *db, void *context)
{
    struct change *change = context;
    struct call *call = change->call;
    bool replayed = false;
    (void)db;
    call_reset(call);
    call->db_failure = DB_OK;
    change->problem = PROBLEM_NONE;
    if (change->key != NULL) {
        change->problem = idempotency_replay(call, change->key, &replayed);
    }
    if (change->problem == PROBLEM_NONE && !replayed) {
        change->problem = call->route->handle(call);
        assert(change->problem != PROBLEM_NONE || call->answered);
        if (change->problem == PROBLEM_NONE && change->key != NULL) {
            change->problem = idempotency_store(call, change->key);
        }
    }
    if (change->problem == PROBLEM_NONE) {
        return DB_OK;
    }
    return call->db_failure != DB_OK ? (enum db_status)call->db_failure : DB_NONE;
}

static enum problem run_change(struct call *call, const char *key)
{
    struct change change = {.call = call, .key = key};
    enum db_status status = db_transact(call->db, try_change, &change);
    if (status == DB_OK || (status == DB_NONE && change.problem != PROBLEM_NONE)) {
        return change.problem;
    }
    return call_db(call, status == DB_NONE ? DB_FAILED : status);
}

static enum problem run(struct call *call, const char *key)
{
    const struct route *route = call->route;
    bool replayed = false;
    if (route->body == BODY_STREAM) {
        idempotency_begin_body(call);
    } else if (key != NULL && route->prepare != NULL) {
        /* A repeat must not fail in PREPARE because the world has moved on since. */
        enum problem problem = idempotency_replay(call, key, &replayed);
        if (problem != PROBLEM_NONE || replayed) {
            return problem;
        }
    }
    if (route->prepare != NULL) {
        enum problem problem = route->prepare(call);
        assert(!call->answered);
        if (problem != PROBLEM_NONE) {
            return problem;
        }
    }
    if (route_writes(route)) {
        return run_change(call, key);
    }
    enum problem problem = route->handle(call);
    assert(problem != PROBLEM_NONE || call->answered);
    return problem;
}

/* CLIENT: who asks, where the service itself knows that; else NULL. */
static enum problem serve(struct call *call, const char *client)
{
    const struct api_request *request = call->request;
    if (strcmp(request->method, "OPTIONS") == 0) {
        return answer_options(call);
    }
    if (call->pass != NULL) {
        call->match = (struct route_match){.route = call->pass->route};
    } else {
        route_match(request->method, request->path, &call->arena, &call->match);
    }
    if (call->match.malformed) {
        return call_problem(call, PROBLEM_BAD_REQUEST, "The path has a broken escape.");
    }
    const struct route *route = call->route = call->match.route;
    if (route == NULL) {
        return no_route(call);
    }
    const char *accept = call_request_header(call, "Accept");
    if ((route->flags & ROUTE_PAGE) && accept_prefers_html(accept)) {
        return api_page_home(call);
    }
    assert(call->db != NULL || route->lane == API_LANE_INLINE || call->pass != NULL);
    enum problem problem = route->roles == ROLE_NONE ? PROBLEM_NONE
                           : client == NULL          ? auth_check(call)
                                                     : auth_known(call, client);
    if (problem != PROBLEM_NONE) {
        return problem;
    }
    if (!(route->flags & ROUTE_ANY_ACCEPT) && !accept_allows_json(accept)) {
        return call_problem(call, PROBLEM_NOT_ACCEPTABLE,
                            "This endpoint answers application/json.");
    }
    const char *key = NULL;
    bool in_body = route->flags & ROUTE_KEY_OR_ID;
    if ((problem = check_query(call)) != PROBLEM_NONE ||
        (!in_body && (problem = idempotency_key(call, &key)) != PROBLEM_NONE) ||
        (problem = read_body(call)) != PROBLEM_NONE ||
        (in_body && (problem = idempotency_key(call, &key)) != PROBLEM_NONE)) {
        return problem;
    }
    return run(call, key);
}

/* ---- what every reply carries */

static void add_common_headers(struct call *call)
{
    struct api_reply *reply = call->reply;
    const char *origin = call_request_header(call, "Origin");
    reply_header(reply, "Request-Id", "%s", call->request->request_id);
    if (reply_header_value(reply, "Cache-Control") == NULL) {
        reply_header(reply, "Cache-Control", "no-store");
    }
    bool fits = origin != NULL && strlen(origin) < sizeof reply->headers[0].value;
    if (fits && cors_allows(call->app->settings.cors_origins, origin)) {
        reply_header(reply, "Access-Control-Allow-Origin", "%s", origin);
        reply_header(reply, "Vary", "Origin");
        if (reply->header_count < API_REPLY_HEADERS) {
            reply_header(reply, "Access-Control-Expose-Headers",
                         "Location, ETag, Request-Id, Retry-After, Idempotency-Replayed");
        }
    }
}

static void serve_to_the_end(struct call *call, const char *client)
{
    enum problem problem = serve(call, client);
    if (problem != PROBLEM_NONE) {
        call_answer_problem(call, problem);
    }
    add_common_headers(call);
    call_end(call);
}

bool api_serve_quick(struct app *app, const struct api_request *request, struct api_reply *reply)
{
    if (request->body_size > QUICK_BODY_BYTES) {
        return false;
    }
    const struct q_pass *pass = q_pass_take(app, request, app->settings.now_ms());
    if (pass == NULL) {
        return false;
    }
    struct call call;
    call_init(&call, app, NULL, request, reply);
    call.pass = pass;
    serve_to_the_end(&call, NULL);
    q_pass_return(app);
    return true;
}

void api_serve_as(struct app *app, struct db *db, const char *client,
                  const struct api_request *request, struct api_reply *reply)
{
    struct call call;
    call_init(&call, app, db, request, reply);
    serve_to_the_end(&call, client);
}

void api_serve(struct app *app, struct db *db, const struct api_request *request,
               struct api_reply *reply)
{
    api_serve_as(app, db, NULL, request, reply);
}
