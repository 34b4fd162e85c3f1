/* Serves a call whose route is known: checks the caller and the form, then runs the handler.
 * Requests from outside (serve.c) and the service's own calls both use it. */
#ifndef TACET_API_CALL_CALL_SERVE_H
#define TACET_API_CALL_CALL_SERVE_H

#include "api/call/call.h"
#include "storage/ledger/trail.h"

/* Serves CALL, whose ROUTE and MATCH are set: the caller (CLIENT, whom the service itself vouches
 * for; NULL: whoever the token says), the form of the request, PREPARE, HANDLE. A route that
 * changes something runs in one transaction with the stored answer of its Idempotency-Key; a repeat
 * gets that answer. Returns PROBLEM_NONE with the answer in the call, or a problem, and then
 * nothing has changed. */
enum problem call_serve(struct call *call, const char *client);

/* Fills *OUT with what the audit trail keeps of CALL, whose ROUTE and MATCH are set; outcome and
 * status are the caller's to set. */
void call_trail_row(struct call *call, struct trail_row *out);

/* Notes for the audit trail that CALL, whose ROUTE and MATCH are set, is refused with PROBLEM, if
 * its caller is known and it would have changed something, or is not the caller's right. */
void call_serve_refused(struct call *call, enum problem problem);

#endif
