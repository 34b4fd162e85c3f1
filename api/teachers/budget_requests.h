/* Asking for a larger budget at a teacher: the client asks, the teacher's steward approves or
 * declines, and both see it. An approval raises the client's limit in the same transaction, and the
 * ledger's entry names the request. */
#ifndef TACET_API_TEACHERS_BUDGET_REQUESTS_H
#define TACET_API_TEACHERS_BUDGET_REQUESTS_H

#include "api/call/call.h"

/* POST /v1/budget-requests */
enum problem api_budget_requests_create(struct call *call);

/* GET /v1/budget-requests */
enum problem api_budget_requests_list(struct call *call);

/* GET /v1/budget-requests/{id} */
enum problem api_budget_requests_get(struct call *call);

/* POST /v1/budget-requests/{id}:approve */
enum problem api_budget_requests_approve(struct call *call);

/* POST /v1/budget-requests/{id}:decline */
enum problem api_budget_requests_decline(struct call *call);

#endif
