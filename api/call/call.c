/* One request in progress: its memory, its answer, its faults. */
#include "api/call/call.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/reply.h"
#include "api/call/uri.h"
#include "api/json/json_text.h"

#define ERRORS_SHOWN_MAX 100

struct call_deferred {
    struct call_deferred *older;
    void (*free_it)(void *what);
    void *what;
};

void call_init(struct call *call, struct app *app, struct db *db, const struct api_request *request,
               struct api_reply *reply)
{
    reply_init(reply);
    /* The arena's kilobytes and the hash need no clearing. */
    memset(call, 0, offsetof(struct call, arena));
    arena_init(&call->arena);
    memset(&call->reply, 0, offsetof(struct call, body_hash) - offsetof(struct call, reply));
    call->app = app;
    call->db = db;
    call->request = request;
    call->reply = reply;
    call->now_ms = app->settings.now_ms();
}

static void forget_problem(struct call *call)
{
    json_decref(call->errors);
    json_decref(call->violated);
    json_decref(call->extra);
    call->errors = call->violated = call->extra = NULL;
    call->detail = NULL;
    call->error_count = 0;
}

void call_reset(struct call *call)
{
    forget_problem(call);
    api_reply_clear(call->reply);
    call->stored_body = NULL;
    call->answered = call->charged_by_body = false;
}

void call_end(struct call *call)
{
    while (call->deferred) {
        struct call_deferred *deferred = call->deferred;
        call->deferred = deferred->older;
        deferred->free_it(deferred->what);
    }
    forget_problem(call);
    json_decref(call->body);
    call->body = NULL;
    arena_clear(&call->arena);
}

/* ---- the request */

const char *call_parameter(const struct call *call, const char *name)
{
    /* The index of {NAME} is the number of braces before it. */
    size_t length = strlen(name);
    unsigned index = 0;
    for (const char *c = strchr(call->route->pattern, '{'); c; c = strchr(c + 1, '{')) {
        if (strncmp(c + 1, name, length) == 0 && c[1 + length] == '}') {
            assert(index < call->match.value_count);
            return call->match.values[index];
        }
        index++;
    }
    assert(!"the pattern has this name");
    return "";
}

const char *call_query(struct call *call, const char *name)
{
    return uri_query_value(call->request->query, name, &call->arena);
}

const char *call_request_header(const struct call *call, const char *name)
{
    return call->request->header(call->request->header_context, name);
}

bool call_is(const struct call *call, unsigned roles)
{
    return (call->caller.role & roles) != 0;
}

const char *call_guest(const struct call *call)
{
    if (call_is(call, ROLE_STEWARD))
        return NULL;
    return call->caller.id;
}

bool call_owns(const struct call *call, const char *owner)
{
    for (struct call_project *project = call->projects; project; project = project->next) {
        if (strcmp(project->id, owner) != 0)
            continue;
        if (!project->views || !route_writes(call->route))
            return true;
        project->refused = true;
    }
    return false;
}

/* ---- memory */

void call_defer(struct call *call, void (*free_it)(void *what), void *what)
{
    struct call_deferred *deferred = arena_alloc(&call->arena, sizeof *deferred);
    *deferred = (struct call_deferred){call->deferred, free_it, what};
    call->deferred = deferred;
}

static void drop_json(void *json)
{
    json_decref(json);
}

json_t *call_own(struct call *call, json_t *json)
{
    call_defer(call, drop_json, json);
    return json;
}

/* ---- good answers */

static void begin_answer(struct call *call, int status, const char *content_type)
{
    assert(!call->answered);
    assert(status >= 200 && status < 400);
    call->answered = true;
    call->reply->status = status;
    call->reply->content_type = content_type;
}

enum problem call_reply_bytes(struct call *call, int status, const char *content_type, char *body,
                              size_t size)
{
    if (!body)
        return call_no_memory(call);
    begin_answer(call, status, content_type);
    call->reply->body = body;
    call->reply->body_size = size;
    return PROBLEM_NONE;
}

enum problem call_reply_json(struct call *call, int status, json_t *json)
{
    size_t size = 0;
    if (!json && call->db_failure != DB_OK)
        return call_db(call, (enum db_status)call->db_failure);
    if (!json)
        return call_problem(call, PROBLEM_INTERNAL_ERROR, "The answer could not be made.");
    char *body = json_text_write(json, false, &size);
    json_decref(json);
    return call_reply_bytes(call, status, "application/json", body, size);
}

enum problem call_reply_static(struct call *call, const char *content_type, const char *body,
                               size_t size)
{
    begin_answer(call, 200, content_type);
    call->reply->static_body = body;
    call->reply->body_size = size;
    return PROBLEM_NONE;
}

void call_store_instead(struct call *call, json_t *json)
{
    char *text = json_text_write(json, false, &call->stored_size);
    json_decref(json);
    call->stored_body = arena_copy(&call->arena, text, call->stored_size);
    free(text);
}

enum problem call_reply_empty(struct call *call, int status)
{
    begin_answer(call, status, NULL);
    return PROBLEM_NONE;
}

enum problem call_reply_done(struct call *call, enum db_status result)
{
    if (result != DB_OK)
        return call_db(call, result);
    return call_reply_empty(call, 204);
}

enum problem call_reply_events(struct call *call, struct api_events events)
{
    assert(events.next);
    begin_answer(call, 200, "text/event-stream");
    call->reply->events = events;
    return PROBLEM_NONE;
}

void call_header(struct call *call, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    reply_header_v(call->reply, name, format, arguments);
    va_end(arguments);
}

void call_cache_day(struct call *call)
{
    bool moves = strchr(call_parameter(call, "id"), '@') != NULL;
    call_header(call, "Cache-Control", "%s", moves ? "no-cache" : "private, max-age=86400");
}

/* ---- problems */

/* A formatted text in the arena. */
static char *format_detail(struct call *call, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    return arena_copy(&call->arena, text, strlen(text));
}

enum problem call_problem(struct call *call, enum problem problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    call->detail = format_detail(call, format, arguments);
    va_end(arguments);
    return problem;
}

/* Takes FAULT. */
static enum problem add_fault(struct call *call, json_t *fault)
{
    call->error_count++;
    if (!call->errors)
        call->errors = json_array();
    if (call->error_count <= ERRORS_SHOWN_MAX)
        json_array_append_new(call->errors, fault);
    else
        json_decref(fault);
    return PROBLEM_VALIDATION;
}

/* Makes a fault as JSON. A sentence that quotes bytes that are not UTF-8 cannot stand in JSON. */
static json_t *fault_json(const char *place, const char *where, const char *detail)
{
    json_t *fault = json_pack("{s:s, s:s}", place, where, "detail", detail);
    if (fault)
        return fault;
    return json_pack("{s:s, s:s}", place, where, "detail", "is not valid");
}

enum problem call_invalid(struct call *call, const char *pointer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *detail = format_detail(call, format, arguments);
    va_end(arguments);
    return add_fault(call, fault_json("pointer", pointer, detail));
}

enum problem call_invalid_query(struct call *call, const char *parameter, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *detail = format_detail(call, format, arguments);
    va_end(arguments);
    return add_fault(call, fault_json("parameter", parameter, detail));
}

enum problem call_invalid_line(struct call *call, uint64_t line, const char *pointer,
                               const char *detail)
{
    return add_fault(call, json_pack("{s:I, s:s, s:s}", "line", (json_int_t)line, "pointer",
                                     pointer, "detail", detail));
}

enum problem call_checked(const struct call *call)
{
    if (call->error_count > 0)
        return PROBLEM_VALIDATION;
    return PROBLEM_NONE;
}

unsigned call_error_count(const struct call *call)
{
    return call->error_count;
}

void call_violated(struct call *call, json_t *violation)
{
    if (!call->violated)
        call->violated = json_array();
    json_array_append_new(call->violated, violation);
}

void call_problem_member(struct call *call, const char *name, json_t *value)
{
    if (!call->extra)
        call->extra = json_object();
    json_object_set_new(call->extra, name, value);
}

void call_answer_problem(struct call *call, enum problem problem)
{
    const char *detail = call->detail;
    if (!detail && problem == PROBLEM_VALIDATION && call->error_count == 1)
        detail = "One thing is wrong: see errors.";
    else if (!detail && problem == PROBLEM_VALIDATION && call->error_count > 1)
        detail = arena_format(&call->arena, "%u things are wrong: see errors.", call->error_count);
    struct reply_problem says = {.detail = detail,
                                 .instance = call->request->path,
                                 .request_id = call->request->request_id,
                                 .errors = call->errors,
                                 .violated = call->violated,
                                 .extra = call->extra};
    reply_problem(call->reply, problem, &says);
}

enum problem call_no_memory(struct call *call)
{
    return call_problem(call, PROBLEM_OVERLOADED, "There is no memory for it at present.");
}

enum problem call_db(struct call *call, enum db_status status)
{
    if (status == DB_OK)
        return PROBLEM_NONE;
    call->db_failure = (int)db_owed(status);
    switch (status) {
    case DB_FULL: return PROBLEM_STORAGE_FULL;
    case DB_MEMORY: return call_no_memory(call);
    case DB_RETRY:
        return call_problem(call, PROBLEM_OVERLOADED,
                            "Too many requests write at the same time. Try again.");
    default: return call_problem(call, PROBLEM_INTERNAL_ERROR, "The database failed.");
    }
}
