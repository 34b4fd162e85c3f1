/* Serves a request from outside: finds its route, answers pages and OPTIONS, serves the call, and
 * adds the headers of every reply. */
#include <assert.h>
#include <string.h>

#include "api/api.h"
#include "api/call/accept.h"
#include "api/call/admitted.h"
#include "api/call/app.h"
#include "api/call/call_serve.h"
#include "api/call/health.h"
#include "api/call/idempotency.h"
#include "api/call/pass.h"
#include "api/call/reply.h"
#include "api/match.h"
#include "api/pages.h"
#include "api/teachers/teacher_shelf.h"

#define QUICK_BODY_BYTES 512 /* of a question for a pass, which limits its work, too */

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
    info.may_be_heavy = route->flags & ROUTE_HEAVY;
    info.timed = !(route->flags & ROUTE_UNTIMED);
    info.settles = !(route->flags & ROUTE_COUNTS);
    info.stores = info.writes;
    info.open = route->roles == ROLE_NONE;
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

/* Answers with the methods that the path allows: to OPTIONS, and when no row matches. */
static enum problem answer_allowed(struct call *call)
{
    char allowed[128];
    route_allowed(call->request->path, allowed, sizeof allowed);
    if (allowed[0] == '\0' && accept_prefers_html(call_request_header(call, "Accept"))) {
        enum problem problem = api_page_missing(call);
        call->reply->status = problem_info(PROBLEM_NOT_FOUND)->status;
        call->reply->problem = problem_info(PROBLEM_NOT_FOUND)->slug;
        return problem;
    }
    char near[ROUTE_NEAR_SIZE];
    if (allowed[0] == '\0' && *route_near(call->request->path, near) != '\0')
        return call_problem(call, PROBLEM_NOT_FOUND, "Nothing has this path; did you mean %s?",
                            near);
    if (allowed[0] == '\0')
        return call_problem(call, PROBLEM_NOT_FOUND, "Nothing has this path.");
    call_header(call, "Allow", "%s", allowed);
    if (strcmp(call->request->method, "OPTIONS") != 0)
        return call_problem(call, PROBLEM_METHOD_NOT_ALLOWED, "This path knows %s.", allowed);
    if (cors_allows(call->app->settings.cors_origins, call_request_header(call, "Origin"))) {
        call_header(call, "Access-Control-Allow-Methods", "%s", allowed);
        call_header(call, "Access-Control-Allow-Headers",
                    "Authorization, Content-Type, Content-Encoding, Accept, Idempotency-Key, "
                    "If-Match, If-None-Match, Last-Event-ID, traceparent");
        call_header(call, "Access-Control-Max-Age", "600");
    }
    return call_reply_empty(call, 204);
}

/* ---- what is heavy */

bool api_is_heavy(const struct app *app, const struct api_request *request)
{
    const char *id = request->path; /* of the third segment */
    for (int i = 0; i < 3; i++) {
        id = strchr(id, '/');
        if (!id)
            return false;
        id++;
    }
    size_t length = strcspn(id, "/");
    return length > 0 && length < ID_SIZE &&
           teacher_shelf_weighs(app, id, length, request->body_size);
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
        reply_header_text(reply, "Access-Control-Expose-Headers",
                          "Location, ETag, Request-Id, Retry-After, Idempotency-Replayed, "
                          "RateLimit, RateLimit-Policy, Tacet-Price, Tacet-Remaining, "
                          "Content-Location");
    }
}

/* ---- serving */

static enum problem serve_call(struct call *call)
{
    const struct api_request *request = call->request;
    if (strcmp(request->method, "OPTIONS") == 0)
        return answer_allowed(call);
    if (call->pass)
        call->match = (struct route_match){.route = call->pass->route};
    else
        match_route(call);
    if (call->match.malformed)
        return call_problem(call, PROBLEM_BAD_REQUEST, "The path has a broken escape.");
    const struct route *route = call->route = call->match.route;
    if (!route)
        return answer_allowed(call);
    if ((route->flags & ROUTE_PAGE) && accept_prefers_html(call_request_header(call, "Accept")))
        return api_page_file(call);
    assert(call->db || route->lane == API_LANE_INLINE || call->pass);
    return call_serve(call, NULL);
}

/* True when the request is answered without asking who sends it. */
static bool is_public(const struct call *call)
{
    const struct route *route = call->request->route;
    if (!route || route->roles == ROLE_NONE)
        return true;
    return (route->flags & ROUTE_PAGE) && accept_prefers_html(call_request_header(call, "Accept"));
}

enum api_admission api_admit(struct app *app, struct db *db, struct admitted *admitted,
                             const struct api_request *request, uint64_t *out_client,
                             char out_id[API_ID_SIZE], struct api_reply *reply)
{
    struct call call;
    enum problem problem = PROBLEM_NONE;
    enum api_admission admission = API_PUBLIC;
    call_init(&call, app, db, request, reply);
    *out_client = 0;
    if (is_public(&call))
        goto cleanup;
    call.route = request->route;
    if (strchr(request->path, '%'))
        match_route(&call);
    problem = call.match.malformed
                  ? call_problem(&call, PROBLEM_BAD_REQUEST, "The path has a broken escape.")
                  : admitted_check(admitted, &call, out_client);
    admission = problem == PROBLEM_NONE ? API_ADMITTED : API_REFUSED;
    if (admission == API_ADMITTED && call.newcomer)
        admission = API_NEWCOMER;
    if (admission != API_REFUSED)
        goto cleanup;
    if (!call.match.route)
        match_route(&call);
    if (!call.match.malformed)
        call_serve_refused(&call, problem);
    call_answer_problem(&call, problem);
    add_common_headers(&call);
cleanup:
    memcpy(out_id, call.caller.id, API_ID_SIZE);
    call_end(&call);
    return admission;
}

char *api_metrics_text(struct app *app, struct db *db, size_t *out_size)
{
    char *text = NULL;
    health_metrics_text(app, db, &text, out_size);
    return text;
}

struct admitted *api_admitted_new(void)
{
    return admitted_new();
}

static void serve_request(struct app *app, struct db *db, const struct pass *pass,
                          const struct api_request *request, struct api_reply *reply)
{
    struct call call;
    call_init(&call, app, db, request, reply);
    call.pass = pass;
    enum problem problem = serve_call(&call);
    if (problem != PROBLEM_NONE)
        call_answer_problem(&call, problem);
    add_common_headers(&call);
    call_end(&call);
}

bool api_serve_quick(struct app *app, const struct api_request *request, struct api_reply *reply)
{
    if (request->body_size > QUICK_BODY_BYTES)
        return false;
    const struct pass *pass = pass_take(app, request, app->settings.now_ms());
    if (!pass)
        return false;
    serve_request(app, NULL, pass, request, reply);
    pass_return(app);
    return true;
}

void api_settled(struct app *app, bool good)
{
    pass_settle(app, good);
}

void api_expect(struct db *db, const struct api_request *request)
{
    idempotency_expect(db, request);
}

void api_serve(struct app *app, struct db *db, const struct api_request *request,
               struct api_reply *reply)
{
    serve_request(app, db, NULL, request, reply);
}
