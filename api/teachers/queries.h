/* Asking a teacher: debit first, then the noise, then the answer; all in one transaction with the
 * stored answer. */
#ifndef TACET_API_TEACHERS_QUERIES_H
#define TACET_API_TEACHERS_QUERIES_H

#include "api/call/call.h"

enum problem api_queries_ask(struct call *call);      /* POST /v1/teachers/{id}/queries */
enum problem api_queries_ahead(struct call *call);    /* its sums, ahead of its turn */
enum problem api_queries_estimate(struct call *call); /* POST /v1/teachers/{id}/queries:estimate */

#endif
