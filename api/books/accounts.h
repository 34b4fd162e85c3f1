/* The ledger as callers see it: accounts, their entries, and the audit. Stewards see the accounts
 * of what they own, students their own, auditors all. */
#ifndef TACET_API_BOOKS_ACCOUNTS_H
#define TACET_API_BOOKS_ACCOUNTS_H

#include "api/call/call.h"
#include "storage/ledger/ledger.h"

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

/* Finds the account ID if the caller may know of it: its owner, its client, an auditor. */
enum problem account_of_call(struct call *call, const char *id, struct ledger_account *out);

/* An account with its balances in the ledger's units. New reference; NULL: the database failed. */
json_t *account_json(struct call *call, const struct ledger_account *account);

/* Answers with BUDGET (taken), what the rest of ACCOUNT buys, how many stewards a change of its
 * limit takes, and the ETag of that limit. */
enum problem account_reply(struct call *call, const struct ledger_account *account, json_t *budget);

#endif
