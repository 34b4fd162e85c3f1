/* From a row to its answer: who asks, what form, then the handler. Both the front door (serve.c)
 * and the service's own calls come this way. */
#ifndef TACET_API_CALL_CALL_SERVE_H
#define TACET_API_CALL_CALL_SERVE_H

#include "api/call/call.h"

/* Serves CALL, whose ROUTE and MATCH are set: the caller (CLIENT, whom the service itself vouches
 * for; NULL: whoever the token says), the form of the request, PREPARE, HANDLE. A route that
 * changes something runs in one transaction with the stored answer of its Idempotency-Key; a repeat
 * gets that answer. PROBLEM_NONE with the answer in the call, or a problem, and nothing changed. */
enum problem call_serve(struct call *call, const char *client);

#endif
