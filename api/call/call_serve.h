/* Serves a call whose route is known: checks the caller and the form, then runs the handler.
 * Requests from outside (serve.c) and the service's own calls both use it. */
#ifndef TACET_API_CALL_CALL_SERVE_H
#define TACET_API_CALL_CALL_SERVE_H

#include "api/call/call.h"

/* Serves CALL, whose ROUTE and MATCH are set: the caller (CLIENT, whom the service itself vouches
 * for; NULL: whoever the token says), the form of the request, PREPARE, HANDLE. A route that
 * changes something runs in one transaction with the stored answer of its Idempotency-Key; a repeat
 * gets that answer. Returns PROBLEM_NONE with the answer in the call, or a problem, and then
 * nothing has changed. */
enum problem call_serve(struct call *call, const char *client);

#endif
