/* Policies: trained or imported networks, and the rule for releasing them. Only its owner sees a
 * policy. Its weights and actions leave when it is released, or when its owner imported it. */
#ifndef TACET_API_POLICIES_POLICIES_H
#define TACET_API_POLICIES_POLICIES_H

#include "algos/policy.h"
#include "api/call/call.h"
#include "storage/policies.h"

/* POST /v1/policies */
enum problem api_policies_import(struct call *call);

/* GET /v1/policies */
enum problem api_policies_list(struct call *call);

/* GET /v1/policies/{id} */
enum problem api_policies_get(struct call *call);

/* DELETE /v1/policies/{id} */
enum problem api_policies_delete(struct call *call);

/* GET /v1/policies/{id}/weights */
enum problem api_policies_weights(struct call *call);

/* POST /v1/policies/{id}/actions */
enum problem api_policies_actions(struct call *call);

/* GET /v1/policies/{id}/certificate */
enum problem api_policies_certificate(struct call *call);

/* Finds policy ID if the caller owns it and it is not deleted; PROBLEM_NOT_FOUND otherwise. */
enum problem policy_of_owner(struct call *call, const char *id, struct policy_row *out);

/* True when the policy was trained without privacy on private data. Nothing computed from its
 * weights may then leave without noise. */
bool policy_is_secret(const struct policy_row *row);

/* PROBLEM_NONE when weights of the policy, and what they compute, may leave: a guarantee covers
 * them, or they came from the caller itself (who is the owner: others do not find the policy). */
enum problem policy_may_leave(struct call *call, const struct policy_row *row);

/* Loads and decodes the network of policy ROW, which is not an ensemble. The caller frees it with
 * policy_free. NULL with DB_OK: it was erased with its dataset. */
enum db_status policy_load(const struct app *app, struct db *db, const struct policy_row *row,
                           struct policy **out);

#endif
