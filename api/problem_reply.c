/* The problem replies that the server makes without serving a request. */
#include <assert.h>
#include <stdio.h>

#include "api/api.h"
#include "api/call/reply.h"

/* Writes the sentence with the limit of the request's route. */
static void problem_say_limit(const struct app *app, const struct api_request *request, char *out,
                              size_t size)
{
    struct api_route_info route = api_route(app, request->method, request->path);
    bool upload = route.lane == API_LANE_STREAM;
    snprintf(out, size, "The body may have at most %llu bytes%s.",
             (unsigned long long)route.max_body_bytes,
             upload ? ", and so may what it decodes to" : "");
}

static void make_reply(const char *slug, const char *detail, const char *path,
                       const char *request_id, struct api_reply *reply)
{
    enum problem problem = problem_find(slug);
    assert(problem != PROBLEM_NONE);
    reply_init(reply);
    reply_header_text(reply, "Request-Id", request_id ? request_id : "-");
    reply_header_text(reply, "Cache-Control", "no-store");
    const struct reply_problem says = {
        .detail = detail, .instance = path, .request_id = request_id};
    reply_problem(reply, problem, &says);
}

void api_problem_reply_to(const struct app *app, const char *slug, const char *detail,
                          const struct api_request *request, struct api_reply *reply)
{
    char limit[120];
    if (problem_find(slug) == PROBLEM_BODY_TOO_LARGE) {
        problem_say_limit(app, request, limit, sizeof limit);
        detail = limit;
    }
    make_reply(slug, detail, request->path, request->request_id, reply);
}

void api_problem_reply(const char *slug, const char *detail, const char *request_id,
                       struct api_reply *reply)
{
    make_reply(slug, detail, NULL, request_id, reply);
}
