/* The table of endpoints. */
#include "api/api.h"
#include "api/books/accounting.h"
#include "api/books/accounts.h"
#include "api/books/client_certificates.h"
#include "api/books/client_tokens.h"
#include "api/books/clients.h"
#include "api/books/limits.h"
#include "api/books/log.h"
#include "api/books/projects.h"
#include "api/books/trail.h"
#include "api/call/certificates.h"
#include "api/call/health.h"
#include "api/data/datasets.h"
#include "api/data/environments.h"
#include "api/data/policy_actions.h"
#include "api/jobs/jobs.h"
#include "api/match.h"
#include "api/pages.h"
#include "api/policies/policies.h"
#include "api/releases/q_releases.h"
#include "api/reports/aggregations.h"
#include "api/teachers/budget_requests.h"
#include "api/teachers/inference.h"
#include "api/teachers/queries.h"
#include "api/teachers/teachers.h"

#define BATCH  API_LANE_BATCH
#define POOL   API_LANE_POOL
#define PLAN   API_LANE_PLAN
#define STREAM API_LANE_STREAM
#define INLINE API_LANE_INLINE

#define PAGED  "page_size page_token"
#define OWNED  "project " PAGED

/* Columns: method, pattern, lane, roles, flags, body, query, prepare, handle, summary. clang-format
 * would spread every row over five lines. */
/* clang-format off */
static const struct route routes[] = {
    /* clients.h, client_tokens.h, client_certificates.h */
    {"POST", "/v1/clients", BATCH, ROLE_ADMIN, 0, BODY_JSON, "", NULL, api_clients_create, "Makes a client and shows its token once."},
    {"GET", "/v1/clients", POOL, ROLE_ADMIN, 0, BODY_NONE, PAGED, NULL, api_clients_list, "Lists clients, never their tokens."},
    {"GET", "/v1/clients/{id}", BATCH, ROLE_ANY, 0, BODY_NONE, "", NULL, api_clients_get, "Shows the caller itself (me); an admin sees every client."},
    {"DELETE", "/v1/clients/{id}", BATCH, ROLE_ADMIN, 0, BODY_NONE, "", NULL, api_clients_revoke, "Revokes a client with all its tokens."},
    {"POST", "/v1/clients/{id}:rotate", BATCH, ROLE_ANY | ROLE_MONITOR, 0, BODY_JSON, "", NULL, api_client_tokens_rotate, "Gives a client a new token; the older ones end after a while."},
    {"GET", "/v1/clients/{id}/tokens", BATCH, ROLE_ANY | ROLE_MONITOR, 0, BODY_NONE, "", NULL, api_client_tokens_list, "Lists a client's tokens, never their secrets."},
    {"DELETE", "/v1/clients/{id}/tokens/{token}", BATCH, ROLE_ANY | ROLE_MONITOR, 0, BODY_NONE, "", NULL, api_client_tokens_end, "Ends one token of a client."},
    {"PUT", "/v1/clients/{id}/certificates/{sha256}", BATCH, ROLE_ADMIN, 0, BODY_NONE, "", NULL, api_client_certificates_bind, "Binds a TLS client certificate to a client."},
    {"GET", "/v1/clients/{id}/certificates", BATCH, ROLE_ANY, 0, BODY_NONE, "", NULL, api_client_certificates_list, "Lists a client's TLS certificates."},
    {"DELETE", "/v1/clients/{id}/certificates/{sha256}", BATCH, ROLE_ADMIN, 0, BODY_NONE, "", NULL, api_client_certificates_end, "Ends the binding of a TLS client certificate."},

    /* projects.h */
    {"GET", "/v1/projects", POOL, ROLE_ANY, 0, BODY_NONE, PAGED, NULL, api_projects_list, "Lists the caller's projects, or all for an admin or auditor."},
    {"GET", "/v1/projects/{id}", POOL, ROLE_ANY, 0, BODY_NONE, "", NULL, api_projects_get, "Shows a project, and to its stewards its members."},
    {"PATCH", "/v1/projects/{id}", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_projects_change, "Renames a project, opens it or closes it."},
    {"PUT", "/v1/projects/{id}/members/{client}", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_projects_put_member, "Makes a client a member, or changes its role."},
    {"DELETE", "/v1/projects/{id}/members/{client}", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_projects_remove_member, "Removes a member."},
    {"POST", "/v1/projects/{id}:transfer", POOL, ROLE_ADMIN | ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_projects_transfer, "Hands a project to another steward, with an entry in each of its accounts."},
    {"POST", "/v1/projects", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_projects_create, "Makes a project, to which data, budgets and teachers can belong."},

    /* environments.h */
    {"POST", "/v1/environments", POOL, ROLE_STEWARD, 0, BODY_JSON, "", api_environments_prepare, api_environments_create, "Registers a world: a program that a runner of the operator's runs sealed."},
    {"DELETE", "/v1/environments/{id}", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_environments_delete, "Removes a registered world with its program."},
    {"GET", "/v1/environments", BATCH, ROLE_ANY, 0, BODY_NONE, "", NULL, api_environments_list, "Lists the simulated worlds and their parameters."},

    /* algorithms.h */
    {"GET", "/v1/algorithms", BATCH, ROLE_ANY, 0, BODY_NONE, "", NULL, api_algorithms_list, "Lists the learning algorithms and their parameters."},

    /* accounts.h */
    {"GET", "/v1/ledger/accounts", POOL, ROLE_STEWARD | ROLE_STUDENT | ROLE_AGENT | ROLE_AUDITOR, ROUTE_PAGE, BODY_NONE, OWNED, NULL, api_accounts_list, "Lists budgets: a steward's own, a student's or agent's own, or all for an auditor."},
    {"GET", "/v1/ledger/accounts/{id}", BATCH, ROLE_STEWARD | ROLE_STUDENT | ROLE_AGENT | ROLE_AUDITOR, ROUTE_PAGE, BODY_NONE, "", NULL, api_accounts_get, "Shows one budget."},
    {"PATCH", "/v1/ledger/accounts/{id}", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_accounts_patch, "Changes the limit of an account, with a reason."},
    {"GET", "/v1/ledger/accounts/{id}/entries", POOL, ROLE_STEWARD | ROLE_STUDENT | ROLE_AGENT | ROLE_AUDITOR, 0, BODY_NONE, PAGED, NULL, api_accounts_entries, "Lists the entries of an account in their order."},
    {"POST", "/v1/ledger:verify", POOL, ROLE_STEWARD | ROLE_AUDITOR, ROUTE_READS, BODY_NONE, "", NULL, api_ledger_verify, "Recomputes every balance and every hash from the entries."},

    /* log.h */
    {"GET", "/v1/ledger/checkpoint", POOL, ROLE_AUDITOR, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_log_checkpoint, "Shows the signed root of the ledger's log (C2SP tlog-checkpoint)."},
    {"GET", "/v1/ledger/tile/{level}/{tile}", POOL, ROLE_AUDITOR, ROUTE_ANY_ACCEPT | ROUTE_REST, BODY_NONE, "", NULL, api_log_tile, "Gives hashes or entries of the ledger's log (C2SP tlog-tiles)."},
    {"GET", "/v1/ledger/proofs/consistency", POOL, ROLE_AUDITOR, ROUTE_ANY_ACCEPT, BODY_NONE, "old", NULL, api_log_consistency, "Proves that the log goes on from an older size, for a witness (C2SP tlog-witness)."},
    {"GET", "/v1/ledger/accounts/{id}/proof", POOL, ROLE_STEWARD | ROLE_AUDITOR, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_log_proof, "Proves that the account as it is now is in the log (C2SP tlog-proof)."},

    /* trail.h */
    {"GET", "/v1/audit", POOL, ROLE_ADMIN | ROLE_AUDITOR, ROUTE_ANY_ACCEPT, BODY_NONE, "resource client since until after " PAGED, NULL, api_trail_list, "Lists who changed what, as JSON or as JSON lines."},

    /* limits.h */
    {"GET", "/v1/limit-changes", POOL, ROLE_STEWARD | ROLE_AUDITOR, 0, BODY_NONE, "status " PAGED, NULL, api_limit_changes_list, "Lists changes of limits that two stewards decide."},
    {"GET", "/v1/limit-changes/{id}", BATCH, ROLE_STEWARD | ROLE_AUDITOR, 0, BODY_NONE, "", NULL, api_limit_changes_get, "Shows a change of a limit."},
    {"POST", "/v1/limit-changes/{id}:approve", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_limit_changes_approve, "Makes the change, as the second steward."},
    {"POST", "/v1/limit-changes/{id}:decline", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_limit_changes_decline, "Declines the change, or takes it back."},

    /* accounting.h */
    {"POST", "/v1/accounting:compose", PLAN, ROLE_ANY, ROUTE_READS, BODY_JSON, "", NULL, api_accounting_compose, "Says what a tree of events costs; stores nothing."},

    /* certificates.h */
    {"GET", "/v1/certificates/{id}", BATCH, ROLE_ANY, ROUTE_PAGE, BODY_NONE, "", NULL, api_certificates_get, "Shows a signed certificate."},

    /* datasets.h, trajectories.h, experts.h */
    {"POST", "/v1/datasets", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_datasets_create, "Declares a dataset and its budget."},
    {"GET", "/v1/datasets", POOL, ROLE_STEWARD | ROLE_CONTRIBUTOR, 0, BODY_NONE, OWNED, NULL, api_datasets_list, "Lists datasets."},
    {"GET", "/v1/datasets/{id}", BATCH, ROLE_STEWARD | ROLE_CONTRIBUTOR, 0, BODY_NONE, "", NULL, api_datasets_get, "Shows a dataset; its counts to its steward only."},
    /* Not in a batch: that would be on disk only after the call's deferred functions have run. */
    {"PATCH", "/v1/datasets/{id}", BATCH, ROLE_STEWARD, ROUTE_UNTIMED, BODY_JSON, "", NULL, api_datasets_change, "Changes for how many days an expert's data are kept."},
    {"DELETE", "/v1/datasets/{id}", POOL, ROLE_STEWARD, ROUTE_UNTIMED, BODY_NONE, "receipt", NULL, api_datasets_delete, "Deletes the data; the ledger stays."},
    {"POST", "/v1/datasets/{id}:seal", BATCH, ROLE_STEWARD, ROUTE_UNTIMED, BODY_NONE, "", NULL, api_datasets_seal, "Fixes the data, so that jobs may use them."},
    {"POST", "/v1/datasets/{id}:compose", BATCH, ROLE_STEWARD, ROUTE_UNTIMED, BODY_JSON, "", NULL, api_datasets_compose, "Lets what is left of the budget add up by Renyi divergence."},
    {"GET", "/v1/datasets/{id}/budget", BATCH, ROLE_STEWARD | ROLE_AUDITOR, ROUTE_PAGE, BODY_NONE, "", NULL, api_datasets_budget, "Shows what is spent and what remains."},
    {"POST", "/v1/datasets/{id}/trajectories", STREAM, ROLE_STEWARD | ROLE_CONTRIBUTOR, ROUTE_UNTIMED | ROUTE_NO_TRAIL, BODY_STREAM, "erased", api_trajectories_prepare, api_trajectories_upload, "Uploads trajectories, all or nothing."},
    {"DELETE", "/v1/datasets/{id}/experts/{expert}", POOL, ROLE_STEWARD | ROLE_CONTRIBUTOR, ROUTE_UNTIMED, BODY_NONE, "client", NULL, api_experts_erase, "Erases an expert's data, with a signed receipt."},
    {"PUT", "/v1/datasets/{id}/experts/{expert}/policy", POOL, ROLE_STEWARD | ROLE_CONTRIBUTOR, ROUTE_POLICY_BODY | ROUTE_UNTIMED | ROUTE_NO_TRAIL, BODY_JSON, "erased", NULL, api_experts_put_policy, "Gives an expert's own policy."},

    /* jobs.h */
    {"POST", "/v1/jobs", PLAN, ROLE_STEWARD, ROUTE_KEY_REQUIRED | ROUTE_UNTIMED, BODY_JSON, "", api_jobs_prepare, api_jobs_create, "Reserves the price and queues a training job."},
    {"POST", "/v1/jobs:estimate", PLAN, ROLE_STEWARD, ROUTE_READS | ROUTE_UNTIMED, BODY_JSON, "", api_jobs_estimate_prepare, api_jobs_estimate, "Says what a job would cost; spends nothing."},
    {"POST", "/v1/jobs:advise", PLAN, ROLE_STEWARD, ROUTE_READS | ROUTE_UNTIMED, BODY_JSON, "", api_jobs_advise_prepare, api_jobs_advise, "Says which job to ask for and what it is likely to be worth; spends nothing."},
    {"GET", "/v1/jobs", POOL, ROLE_STEWARD, ROUTE_PAGE, BODY_NONE, "state algorithm counts " OWNED, NULL, api_jobs_list, "Lists jobs, newest first."},
    {"GET", "/v1/jobs/{id}", BATCH, ROLE_STEWARD, ROUTE_PAGE, BODY_NONE, "", NULL, api_jobs_get, "Shows a job and its progress."},
    {"GET", "/v1/jobs/{id}/events", BATCH, ROLE_STEWARD, ROUTE_ANY_ACCEPT | ROUTE_UNTIMED, BODY_NONE, "", NULL, api_jobs_events, "Follows a job by server-sent events."},
    {"POST", "/v1/jobs/{id}:cancel", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_jobs_cancel, "Cancels a job."},

    /* policies.h */
    {"POST", "/v1/policies", POOL, ROLE_STEWARD, ROUTE_POLICY_BODY, BODY_JSON, "", NULL, api_policies_import, "Imports a network as a teacher's policy."},
    {"GET", "/v1/policies", POOL, ROLE_ANY, 0, BODY_NONE, OWNED, NULL, api_policies_list, "Lists policies."},
    {"GET", "/v1/policies/{id}", POOL, ROLE_ANY, ROUTE_PAGE, BODY_NONE, "", NULL, api_policies_get, "Shows a policy."},
    {"DELETE", "/v1/policies/{id}", POOL, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_policies_delete, "Erases the weights of a policy that nothing uses; its certificate stays."},
    {"GET", "/v1/policies/{id}/weights", POOL, ROLE_ANY, ROUTE_ANY_ACCEPT, BODY_NONE, "format certificate", NULL, api_policies_weights, "Downloads a released network."},
    {"POST", "/v1/policies/{id}/actions", POOL, ROLE_ANY, ROUTE_READS, BODY_JSON, "", NULL, api_policies_actions, "Asks a released policy for actions; free."},
    {"GET", "/v1/policies/{id}/certificate", BATCH, ROLE_ANY, ROUTE_PAGE, BODY_NONE, "", NULL, api_policies_certificate, "Shows the signed certificate of a policy."},
    {"POST", "/v1/policies/{id}/grants", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_policy_grants_create, "Lets a client, or every client, read a released policy."},
    {"GET", "/v1/policies/{id}/grants", POOL, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_policy_grants_list, "Lists who may read a policy."},
    {"DELETE", "/v1/policies/{id}/grants/{client}", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_policy_grants_delete, "Takes back a grant of a policy."},
    {"PUT", "/v1/policies/{id}/names/{name}", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_policies_name, "Gives a policy a version's name for ever, or moves an alias to it."},
    {"GET", "/v1/policy-names", POOL, ROLE_STEWARD, 0, BODY_NONE, PAGED, NULL, api_policy_names_list, "Lists the names of policies."},
    {"GET", "/v1/policy-names/{name}", POOL, ROLE_STEWARD, 0, BODY_NONE, "project", NULL, api_policy_names_get, "Shows what a name names, and every move of it."},

    /* teachers.h, queries.h */
    {"POST", "/v1/teachers", PLAN, ROLE_STEWARD, 0, BODY_JSON, "", api_teachers_prepare, api_teachers_create, "Puts a policy behind a noisy mechanism and a budget."},
    {"GET", "/v1/teachers", POOL, ROLE_STEWARD | ROLE_STUDENT, ROUTE_PAGE, BODY_NONE, OWNED, NULL, api_teachers_list, "Lists teachers."},
    {"GET", "/v1/teachers/{id}", BATCH, ROLE_STEWARD | ROLE_STUDENT, 0, BODY_NONE, "", NULL, api_teachers_get, "Shows a teacher."},
    /* Not in a batch, as the deletion of a dataset. */
    {"POST", "/v1/teachers/{id}:close", POOL, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_teachers_close, "Closes a teacher for ever; what is left of its budgets is never spent."},
    {"DELETE", "/v1/teachers/{id}", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_teachers_delete, "Deletes a closed teacher; ledger and certificate stay."},
    {"GET", "/v1/teachers/{id}/certificate", BATCH, ROLE_STEWARD | ROLE_STUDENT | ROLE_AUDITOR, ROUTE_PAGE, BODY_NONE, "", NULL, api_teachers_certificate, "Shows the signed certificate of a teacher."},
    {"PUT", "/v1/teachers/{id}/budgets/{client}", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_teachers_put_budget, "Grants or changes a client's budget."},
    {"GET", "/v1/teachers/{id}/budgets/{client}", BATCH, ROLE_STEWARD | ROLE_STUDENT, ROUTE_PAGE, BODY_NONE, "", NULL, api_teachers_get_budget, "Shows a client's budget."},
    QUERIES_ROUTE,
    {"POST", "/v1/teachers/{id}/queries:estimate", PLAN, ROLE_STUDENT | ROLE_STEWARD, ROUTE_READS, BODY_JSON, "", NULL, api_queries_estimate, "Says what n queries cost on a fresh account."},
    ROLLOUTS_ROUTE,

    /* budget_requests.h */
    {"POST", "/v1/budget-requests", BATCH, ROLE_STUDENT, 0, BODY_JSON, "", NULL, api_budget_requests_create, "Asks the steward of a teacher for a larger budget."},
    {"GET", "/v1/budget-requests", POOL, ROLE_STEWARD | ROLE_STUDENT, ROUTE_PAGE, BODY_NONE, "status " OWNED, NULL, api_budget_requests_list, "Lists requests for budgets: a student's own, or those that a steward decides."},
    {"GET", "/v1/budget-requests/{id}", BATCH, ROLE_STEWARD | ROLE_STUDENT, 0, BODY_NONE, "", NULL, api_budget_requests_get, "Shows a request for a budget."},
    {"POST", "/v1/budget-requests/{id}:approve", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_budget_requests_approve, "Raises the client's limit, to what was asked for or less."},
    {"POST", "/v1/budget-requests/{id}:decline", BATCH, ROLE_STEWARD, 0, BODY_JSON, "", NULL, api_budget_requests_decline, "Declines a request for a budget."},

    /* inference.h */
    {"GET", "/v2", INLINE, ROLE_NONE, 0, BODY_NONE, "", NULL, api_inference_server, "Open Inference Protocol: what this server is."},
    {"GET", "/v2/health/live", INLINE, ROLE_NONE, 0, BODY_NONE, "", NULL, api_inference_live, "Open Inference Protocol: answers as long as the process runs."},
    {"GET", "/v2/health/ready", INLINE, ROLE_NONE, 0, BODY_NONE, "", NULL, api_inference_ready, "Open Inference Protocol: says whether requests will be served."},
    {"GET", "/v2/models/{id}", BATCH, ROLE_STUDENT | ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_inference_model, "Open Inference Protocol: the tensors of a teacher."},
    {"GET", "/v2/models/{id}/ready", BATCH, ROLE_STUDENT | ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_inference_model_ready, "Open Inference Protocol: says that a teacher is there."},
    {"POST", "/v2/models/{id}/infer", BATCH, ROLE_STUDENT | ROLE_STEWARD, ROUTE_KEY_OR_ID | ROUTE_DATED_KEY | ROUTE_HEAVY | ROUTE_NO_TRAIL, BODY_JSON, "", api_inference_prepare, api_inference_infer, "Open Inference Protocol: asks a teacher and pays for it."},

    /* q_releases.h */
    {"GET", "/v1/q-releases", POOL, ROLE_STEWARD | ROLE_STUDENT, 0, BODY_NONE, OWNED, NULL, api_q_releases_list, "Lists released Q-functions."},
    {"GET", "/v1/q-releases/{id}", BATCH, ROLE_STEWARD | ROLE_STUDENT, ROUTE_PAGE, BODY_NONE, "", NULL, api_q_releases_get, "Shows the terms of a released Q-function."},
    {"DELETE", "/v1/q-releases/{id}", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_q_releases_end, "Erases the key of a release: it answers no more."},
    {"GET", "/v1/q-releases/{id}/certificate", BATCH, ROLE_STEWARD | ROLE_STUDENT | ROLE_AUDITOR, ROUTE_PAGE, BODY_NONE, "", NULL, api_q_releases_certificate, "Shows the signed certificate of a release."},
    {"GET", "/v1/q-releases/{id}/weights", POOL, ROLE_STEWARD | ROLE_STUDENT, ROUTE_ANY_ACCEPT, BODY_NONE, "format certificate", NULL, api_q_releases_weights, "Downloads a released Q-function that is a network."},
    {"POST", "/v1/q-releases/{id}/queries", BATCH, ROLE_STEWARD | ROLE_STUDENT, ROUTE_READS | ROUTE_QUICK, BODY_JSON, "", NULL, api_q_releases_query, "Gives the released values of states; free, and always the same."},
    {"POST", "/v1/q-releases/{id}/actions", BATCH, ROLE_STEWARD | ROLE_STUDENT, ROUTE_READS | ROUTE_QUICK, BODY_JSON, "", NULL, api_q_releases_actions, "Gives the best released action of states; free."},

    /* aggregations.h */
    {"POST", "/v1/aggregations", PLAN, ROLE_STEWARD, 0, BODY_JSON, "", api_aggregations_prepare, api_aggregations_create, "Begins a collection of locally private reports."},
    {"GET", "/v1/aggregations", POOL, ROLE_STEWARD | ROLE_AGENT, 0, BODY_NONE, OWNED, NULL, api_aggregations_list, "Lists aggregations."},
    {"GET", "/v1/aggregations/{id}", BATCH, ROLE_STEWARD | ROLE_AGENT, 0, BODY_NONE, "", NULL, api_aggregations_get, "Shows an aggregation."},
    {"POST", "/v1/aggregations/{id}:close", BATCH, ROLE_STEWARD, 0, BODY_NONE, "", NULL, api_aggregations_close, "Ends an aggregation; its parameters stay."},
    {"GET", "/v1/aggregations/{id}/parameters", POOL, ROLE_STEWARD | ROLE_AGENT, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_aggregations_parameters, "Gives the present parameters, and an agent the seed of its next report."},
    {"POST", "/v1/aggregations/{id}/submissions", BATCH, ROLE_AGENT, ROUTE_KEY_REQUIRED | ROUTE_NO_TRAIL, BODY_JSON, "", NULL, api_aggregations_submit, "Takes an agent's randomised report."},

    /* health.h */
    {"GET", "/healthz/live", INLINE, ROLE_NONE, 0, BODY_NONE, "", NULL, api_health_live, "Answers as long as the process runs."},
    {"GET", "/healthz/ready", INLINE, ROLE_NONE, 0, BODY_NONE, "", NULL, api_health_ready, "Says whether requests will be served."},
    {"GET", "/metrics", POOL, ROLE_ADMIN | ROLE_MONITOR, ROUTE_ANY_ACCEPT | ROUTE_COUNTS, BODY_NONE, "", NULL, api_metrics, "Counters of the server in Prometheus text, of all tenants together."},

    /* pages.h */
    {"GET", "/", INLINE, ROLE_NONE, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_page_file, "The status page."},
    {"GET", "/status.js", INLINE, ROLE_NONE, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_page_file, "The script of the status page."},
    {"GET", "/status.css", INLINE, ROLE_NONE, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_page_file, "The style sheet of all pages."},
    {"GET", "/docs", INLINE, ROLE_NONE, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_page_file, "The documentation of every endpoint, as a page."},
    {"GET", "/openapi.yaml", INLINE, ROLE_NONE, ROUTE_ANY_ACCEPT, BODY_NONE, "", NULL, api_page_file, "This contract, as OpenAPI 3.1."},
    {"GET", "/problems", INLINE, ROLE_NONE, 0, BODY_NONE, "", NULL, api_page_problems, "Lists the problem types."},
    {"GET", "/problems/{slug}", INLINE, ROLE_NONE, 0, BODY_NONE, "", NULL, api_page_problem, "Explains one problem type."},
    {"GET", "/.well-known/jwks.json", POOL, ROLE_NONE, 0, BODY_NONE, "", NULL, api_page_signing_keys, "The public keys of certificates (RFC 7517)."},
};
/* clang-format on */

#define ROUTE_COUNT (sizeof routes / sizeof routes[0])

const struct route *route_all(unsigned *out_count)
{
    *out_count = (unsigned)ROUTE_COUNT;
    return routes;
}
