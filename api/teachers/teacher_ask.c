/* The rows of the two routes, without the front door. */
#include "api/teachers/teacher_ask.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/call/call_serve.h"
#include "api/teachers/queries.h"

static const struct route QUERY = QUERIES_ROUTE, ROLLOUT = ROLLOUTS_ROUTE;

/* The headers of a question: Content-Type, and Idempotency-Key with the value CONTEXT. */
static const char *ask_header(void *context, const char *name)
{
    if (strcasecmp(name, "Idempotency-Key") == 0)
        return context;
    return strcasecmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static void serve_ask(struct app *app, struct db *db, const struct route *route,
                      const struct teacher_ask *ask, const char *body, struct api_reply *reply)
{
    char path[96], key[256];
    const char *last = strrchr(route->pattern, '/');
    snprintf(path, sizeof path, "/v1/teachers/%s%s", ask->teacher, last);
    snprintf(key, sizeof key, "%s", ask->key);
    struct api_request request = {.method = route->method,
                                  .path = path,
                                  .query = "",
                                  .header_context = key,
                                  .header = ask_header,
                                  .body = (const unsigned char *)body,
                                  .body_size = strlen(body)};
    snprintf(request.request_id, sizeof request.request_id, "%s", ask->job);
    assert(!db_in_transaction(db));
    struct call call;
    call_init(&call, app, db, &request, reply);
    call.job = ask->job;
    call.worker = ask->worker;
    call.route = route;
    call.match = (struct route_match){.route = route, .values = {ask->teacher}, .value_count = 1};
    enum problem problem = call_serve(&call, ask->client);
    if (problem != PROBLEM_NONE)
        call_answer_problem(&call, problem);
    call_end(&call);
}

void teacher_query(struct app *app, struct db *db, const struct teacher_ask *ask, const char *body,
                   struct api_reply *reply)
{
    serve_ask(app, db, &QUERY, ask, body, reply);
}

void teacher_begin_rollout(struct app *app, struct db *db, const struct teacher_ask *ask,
                           struct api_reply *reply)
{
    serve_ask(app, db, &ROLLOUT, ask, "", reply);
}
