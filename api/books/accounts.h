/* The ledger as callers see it: accounts, their entries, and the audit. Stewards see the accounts
 * of what they own, students their own, auditors all. */
#ifndef TACET_API_BOOKS_ACCOUNTS_H
#define TACET_API_BOOKS_ACCOUNTS_H

#include "api/call/call.h"

/* GET /v1/ledger/accounts */
enum problem api_accounts_list(struct call *call);

/* GET /v1/ledger/accounts/{id} */
enum problem api_accounts_get(struct call *call);

/* GET /v1/datasets/{id}/budget */
enum problem api_datasets_budget(struct call *call);

/* GET /v1/ledger/accounts/{id}/entries */
enum problem api_accounts_entries(struct call *call);

/* POST /v1/ledger:verify */
enum problem api_ledger_verify(struct call *call);

#endif
