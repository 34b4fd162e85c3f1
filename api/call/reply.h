/* Filling a struct api_reply: bodies, headers and problem documents. */
#ifndef TACET_API_CALL_REPLY_H
#define TACET_API_CALL_REPLY_H

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>

#include "api/call/request.h"
#include "api/wire/problem.h"

/* An empty reply: status 0, no headers. */
void reply_init(struct api_reply *reply);

/* Adds a header; NAME is static text. A value that is too long, or one header too many, is our bug.
 */
void reply_header_text(struct api_reply *reply, const char *name, const char *value);

/* As reply_header_text, with a value that is formatted as by printf. */
void reply_header_v(struct api_reply *reply, const char *name, const char *format,
                    va_list arguments);

/* The value of a header that was added; NULL when there is none. */
const char *reply_header_value(const struct api_reply *reply, const char *name);

/* The members of a problem document beside its table row; each may be NULL. JSON is borrowed. */
struct reply_problem {
    const char *detail;
    const char *instance; /* the path */
    const char *request_id;
    json_t *errors, *violated, *extra; /* two arrays; an object of further members */
};

/* Makes REPLY the application/problem+json document of PROBLEM; keeps the headers that are there.
 */
void reply_problem(struct api_reply *reply, enum problem problem, const struct reply_problem *says);

#endif
