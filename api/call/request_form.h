/* The form of a request: query parameters, types and encodings, the body as JSON. For serve.c; the
 * call's route is known. */
#ifndef TACET_API_CALL_REQUEST_FORM_H
#define TACET_API_CALL_REQUEST_FORM_H

#include "api/call/call.h"

/* Every query parameter is known to the route and given once. */
enum problem request_check_query(struct call *call);

/* Leaves the body in call->body. A streamed body stays where it is. */
enum problem request_read_body(struct call *call);

#endif
