/* Callers whose token the database confirmed a moment ago. One thread asks at the headers of every
 * request, before the body is read; without this memory each of them would be a query more. What is
 * remembered only lets a body in: the call itself asks the database again. */
#ifndef TACET_API_CALL_ADMITTED_H
#define TACET_API_CALL_ADMITTED_H

#include "api/call/call.h"

/* Remembers nobody. free() ends it. One thread's own. */
struct admitted *admitted_new(void);

/* As auth_check, from memory where the caller was admitted within the last second. *out_client is a
 * number that stands for the caller as long as ADMITTED lives, never 0; untouched on a problem. */
enum problem admitted_check(struct admitted *admitted, struct call *call, uint64_t *out_client);

#endif
