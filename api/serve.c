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

#include "api/api.h"
#include "api/call/accept.h"
#include "api/call/app.h"
#include "api/call/auth.h"
#include "api/call/call.h"
#include "api/call/idempotency.h"
#include "api/call/reply.h"
#include "api/call/request_form.h"
#include "api/call/serve_as.h"
#include "api/pages.h"
#include "api/releases/q_pass.h"
#include "api/teachers/query_ahead.h"
#include "api/teachers/teacher_shelf.h"
#include "storage/db/db.h"

#define QUICK_BODY_BYTES 512 /* a question that takes microseconds */

struct api_route_info api_route(const struct app *app, const char *method, const char *path)
{
    struct route_match match;
    route_match(method, path, NULL, &match);
    struct api_route_info info = {.lane = API_LANE_INLINE,
                                  .max_body_bytes = app->settings.max_body_bytes,
                                  .pattern = "(none)"};
    const struct route *route = match.route;
    if (!route)
        return info;
    info.route = route;
    info.lane = route->lane;
    info.writes = route_writes(route);
    info.quick = route->flags & ROUTE_QUICK;
    info.ahead = route->flags & ROUTE_AHEAD;
    info.pattern = route->pattern;
    if (route->body == BODY_STREAM)
        info.max_body_bytes = app->settings.max_upload_bytes;
    else if (route->flags & ROUTE_POLICY_BODY)
        info.max_body_bytes = app->settings.max_policy_bytes;
    return info;
}

/* ---- finding the row */

static void match_route(struct call *call)
{
    const struct api_request *request = call->request;
    if (request->route)
        route_match_row(request->route, request->path, &call->arena, &call->match);
    else
        route_match(request->method, request->path, &call->arena, &call->match);
}

static enum problem no_route(struct call *call)
{
    char allowed[128];
    route_allowed(call->request->path, allowed, sizeof allowed);
    if (allowed[0] == '\0')
        return call_problem(call, PROBLEM_NOT_FOUND, "Nothing has this path.");
    call_header(call, "Allow", "%s", allowed);
    return call_problem(call, PROBLEM_METHOD_NOT_ALLOWED, "This path knows %s.", allowed);
}

static enum problem answer_options(struct call *call)
{
    char allowed[128];
    route_allowed(call->request->path, allowed, sizeof allowed);
    if (allowed[0] == '\0')
        return call_problem(call, PROBLEM_NOT_FOUND, "Nothing has this path.");
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

/* ---- running the handler */

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
    if (change->key)
        change->problem = idempotency_replay(call, change->key, &replayed);
    if (change->problem == PROBLEM_NONE && !replayed) {
        change->problem = call->route->handle(call);
        assert(change->problem != PROBLEM_NONE || call->answered);
        if (change->problem == PROBLEM_NONE && change->key)
            change->problem = idempotency_store(call, change->key);
    }
    if (change->problem == PROBLEM_NONE)
        return DB_OK;
    return call->db_failure != DB_OK ? (enum db_status)call->db_failure : DB_NONE;
}

static enum problem run_change(struct call *call, const char *key)
{
    struct change change = {.call = call, .key = key};
    enum db_status status = db_transact(call->db, try_change, &change);
    if (status == DB_OK || (status == DB_NONE && change.problem != PROBLEM_NONE))
        return change.problem;
    return call_db(call, status);
}

static enum problem run(struct call *call, const char *key)
{
    const struct route *route = call->route;
    bool replayed = false, prepare = route->prepare && !(route->flags & ROUTE_AHEAD);
    if (route->body == BODY_STREAM) {
        idempotency_begin_body(call);
    } else if (key && prepare) {
        /* A repeat must not fail in PREPARE because the world has moved on since. */
        enum problem problem = idempotency_replay(call, key, &replayed);
        if (problem != PROBLEM_NONE || replayed)
            return problem;
    }
    if (prepare) {
        enum problem problem = route->prepare(call);
        assert(!call->answered);
        if (problem != PROBLEM_NONE)
            return problem;
    }
    if (route_writes(route))
        return run_change(call, key);
    enum problem problem = route->handle(call);
    assert(problem != PROBLEM_NONE || call->answered);
    return problem;
}

/* Who asks, and whether the form is right. CLIENT: who asks, where the service itself knows that;
 * else NULL. */
static enum problem check(struct call *call, const char *client, const char **out_key)
{
    const struct route *route = call->route;
    const char *accept = call_request_header(call, "Accept");
    enum problem problem = route->roles == ROLE_NONE ? PROBLEM_NONE
                           : !client                 ? auth_check(call)
                                                     : auth_known(call, client);
    if (problem != PROBLEM_NONE)
        return problem;
    if (!(route->flags & ROUTE_ANY_ACCEPT) && !accept_allows_json(accept)) {
        return call_problem(call, PROBLEM_NOT_ACCEPTABLE,
                            "This endpoint answers application/json.");
    }
    bool in_body = route->flags & ROUTE_KEY_OR_ID;
    if ((problem = request_check_query(call)) != PROBLEM_NONE ||
        (!in_body && (problem = idempotency_key(call, out_key)) != PROBLEM_NONE) ||
        (problem = request_read_body(call)) != PROBLEM_NONE ||
        (in_body && (problem = idempotency_key(call, out_key)) != PROBLEM_NONE))
        return problem;
    return PROBLEM_NONE;
}

static enum problem serve(struct call *call, const char *client)
{
    const struct api_request *request = call->request;
    if (strcmp(request->method, "OPTIONS") == 0)
        return answer_options(call);
    if (call->pass)
        call->match = (struct route_match){.route = call->pass->route};
    else
        match_route(call);
    if (call->match.malformed)
        return call_problem(call, PROBLEM_BAD_REQUEST, "The path has a broken escape.");
    const struct route *route = call->route = call->match.route;
    if (!route)
        return no_route(call);
    if ((route->flags & ROUTE_PAGE) && accept_prefers_html(call_request_header(call, "Accept")))
        return api_page_home(call);
    assert(call->db || route->lane == API_LANE_INLINE || call->pass);
    const char *key = NULL;
    enum problem problem = check(call, client, &key);
    return problem == PROBLEM_NONE ? run(call, key) : problem;
}

/* ---- ahead of its turn */

bool api_runs_ahead(const struct app *app, const struct api_request *request)
{
    const char *id = request->path; /* of the third segment */
    for (int i = 0; i < 3 && id; i++) {
        id = strchr(id, '/');
        id = !id ? NULL : id + 1;
    }
    size_t length = !id ? 0 : strcspn(id, "/");
    return length > 0 && length < ID_SIZE &&
           teacher_shelf_weighs(app, id, length, request->body_size);
}

/* Nothing is to be computed for who may not ask, and for a repeat, whose answer is stored. */
static void plan_ahead(struct call *call, const char *client)
{
    const char *key = NULL;
    bool replayed = false;
    if (check(call, client, &key) == PROBLEM_NONE &&
        (!key || (idempotency_replay(call, key, &replayed) == PROBLEM_NONE && !replayed)))
        (void)call->route->prepare(call); /* api_serve will say what is wrong */
}

static void run_ahead(struct app *app, struct db *db, const char *client,
                      struct api_request *request)
{
    struct call call;
    struct api_reply reply = {0};
    call_init(&call, app, db, request, &reply);
    match_route(&call);
    call.route = call.match.malformed ? NULL : call.match.route;
    bool ahead = call.route && (call.route->flags & ROUTE_AHEAD);
    /* One transaction, which reads: each look by itself would cost as much as many networks. */
    if (ahead && db_begin_batch(db, false) == DB_OK) {
        plan_ahead(&call, client);
        if (db_commit_batch(db) != DB_OK)
            db_rollback_batch(db);
        query_run_ahead(&call);
        request->ahead = call.ahead;
    }
    call_end(&call);
    api_reply_clear(&reply);
}

void api_run_ahead(struct app *app, struct db *db, struct api_request *request)
{
    run_ahead(app, db, NULL, request);
}

/* ---- what every reply carries */

static void add_common_headers(struct call *call)
{
    struct api_reply *reply = call->reply;
    const char *origin = call_request_header(call, "Origin");
    reply_header_text(reply, "Request-Id", call->request->request_id);
    if (!reply_header_value(reply, "Cache-Control"))
        reply_header_text(reply, "Cache-Control", "no-store");
    bool fits = origin && strlen(origin) < sizeof reply->headers[0].value;
    if (fits && cors_allows(call->app->settings.cors_origins, origin)) {
        reply_header_text(reply, "Access-Control-Allow-Origin", origin);
        reply_header_text(reply, "Vary", "Origin");
        if (reply->header_count < API_REPLY_HEADERS) {
            reply_header(reply, "Access-Control-Expose-Headers",
                         "Location, ETag, Request-Id, Retry-After, Idempotency-Replayed");
        }
    }
}

static void serve_to_the_end(struct call *call, const char *client)
{
    enum problem problem = serve(call, client);
    if (problem != PROBLEM_NONE)
        call_answer_problem(call, problem);
    add_common_headers(call);
    call_end(call);
}

bool api_serve_quick(struct app *app, const struct api_request *request, struct api_reply *reply)
{
    if (request->body_size > QUICK_BODY_BYTES)
        return false;
    const struct q_pass *pass = q_pass_take(app, request, app->settings.now_ms());
    if (!pass)
        return false;
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
    struct api_request own = *request;
    struct call call;
    run_ahead(app, db, client, &own);
    call_init(&call, app, db, &own, reply);
    serve_to_the_end(&call, client);
    api_ahead_free(own.ahead);
}

void api_serve(struct app *app, struct db *db, const struct api_request *request,
               struct api_reply *reply)
{
    struct call call;
    call_init(&call, app, db, request, reply);
    serve_to_the_end(&call, NULL);
}
