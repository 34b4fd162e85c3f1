/* Replies and problem documents (RFC 9457). */
#include "api/call/reply.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/json_text.h"

#define RETRY_AFTER_SECONDS "2"

void reply_init(struct api_reply *reply)
{
    /* The header values are a page of memory: only their count is cleared. */
    reply->status = 0;
    reply->problem = NULL;
    reply->content_type = NULL;
    reply->body = NULL;
    reply->static_body = NULL;
    reply->body_size = 0;
    reply->header_count = 0;
    memset(&reply->events, 0, sizeof reply->events);
}

void api_reply_clear(struct api_reply *reply)
{
    free(reply->body);
    if (reply->events.free)
        reply->events.free(reply->events.context);
    reply_init(reply);
}

void reply_header_v(struct api_reply *reply, const char *name, const char *format,
                    va_list arguments)
{
    assert(reply->header_count < API_REPLY_HEADERS);
    size_t size = sizeof reply->headers[0].value;
    reply->headers[reply->header_count].name = name;
    int length = vsnprintf(reply->headers[reply->header_count].value, size, format, arguments);
    assert(length >= 0 && (size_t)length < size);
    reply->header_count++;
}

void reply_header_text(struct api_reply *reply, const char *name, const char *value)
{
    size_t size = strlen(value) + 1;
    assert(reply->header_count < API_REPLY_HEADERS && size <= sizeof reply->headers[0].value);
    reply->headers[reply->header_count].name = name;
    memcpy(reply->headers[reply->header_count].value, value, size);
    reply->header_count++;
}

const char *reply_header_value(const struct api_reply *reply, const char *name)
{
    for (unsigned i = 0; i < reply->header_count; i++)
        if (strcasecmp(reply->headers[i].name, name) == 0)
            return reply->headers[i].value;
    return NULL;
}

static json_t *problem_document(const struct problem_info *info, const struct reply_problem *says)
{
    json_t *document =
        json_pack("{s:o, s:s, s:i}", "type", json_sprintf("/problems/%s", info->slug), "title",
                  info->title, "status", info->status);
    json_t *detail = json_string(says->detail); /* NULL: it is not UTF-8 */
    if (!detail)
        detail = json_string(info->explanation);
    json_object_set_new(document, "detail", detail);
    /* Clients of the Open Inference Protocol look for this member. */
    if (says->instance && strncmp(says->instance, "/v2/", 4) == 0)
        json_object_set(document, "error", detail);
    /* A path with bytes that are not UTF-8 cannot stand in JSON and is left out. */
    if (says->instance)
        json_object_set_new(document, "instance", json_string(says->instance));
    if (says->request_id)
        json_object_set_new(document, "request_id", json_string(says->request_id));
    if (says->errors)
        json_object_set(document, "errors", says->errors);
    if (says->violated)
        json_object_set(document, "violated", says->violated);
    if (says->extra)
        json_object_update_missing(document, says->extra);
    return document;
}

void reply_problem(struct api_reply *reply, enum problem problem, const struct reply_problem *says)
{
    const struct problem_info *info = problem_info(problem);
    free(reply->body);
    if (reply->events.free) /* a handler that answered and failed afterwards */
        reply->events.free(reply->events.context);
    memset(&reply->events, 0, sizeof reply->events);
    reply->static_body = NULL;
    reply->content_type = "application/problem+json";
    json_t *document = problem_document(info, says);
    reply->status = info->status;
    reply->problem = info->slug;
    reply->body = json_text_write(document, false, &reply->body_size);
    json_decref(document);
    bool passing = info->status == 503 || info->status == 429;
    if (passing && !reply_header_value(reply, "Retry-After"))
        reply_header_text(reply, "Retry-After", RETRY_AFTER_SECONDS);
}
