/* Limits of datasets, teachers and clients: changed by their owners, with a reason; where an
 * account takes two stewards, proposed by one and approved by another. */
#ifndef TACET_API_BOOKS_LIMITS_H
#define TACET_API_BOOKS_LIMITS_H

#include "api/call/call.h"

/* PATCH /v1/ledger/accounts/{id} */
enum problem api_accounts_patch(struct call *call);

/* GET /v1/limit-changes?status= */
enum problem api_limit_changes_list(struct call *call);

/* GET /v1/limit-changes/{id} */
enum problem api_limit_changes_get(struct call *call);

/* POST /v1/limit-changes/{id}:approve */
enum problem api_limit_changes_approve(struct call *call);

/* POST /v1/limit-changes/{id}:decline */
enum problem api_limit_changes_decline(struct call *call);

#endif
