/* Policies: trained or imported networks, and the rule for releasing them. Its owner sees a policy,
 * and whoever was granted a released one. Its weights and actions leave when it is released, or
 * when its owner imported it. Where a policy's id is taken, so is a name, treatment@current. */
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

/* GET /v1/policies/{id}/certificate */
enum problem api_policies_certificate(struct call *call);

/* PUT /v1/policies/{id}/names/{name} */
enum problem api_policies_name(struct call *call);

/* GET /v1/policy-names */
enum problem api_policy_names_list(struct call *call);

/* GET /v1/policy-names/{name} */
enum problem api_policy_names_get(struct call *call);

/* POST /v1/policies/{id}/grants */
enum problem api_policy_grants_create(struct call *call);

/* GET /v1/policies/{id}/grants */
enum problem api_policy_grants_list(struct call *call);

/* DELETE /v1/policies/{id}/grants/{client} */
enum problem api_policy_grants_delete(struct call *call);

/* What the caller should hear before anybody uses POLICY: an array of sentences, such as that a
 * judge found no reason to. What was found of a secret policy its owner alone hears;
 * of another one its teacher's students hear it, too. New reference;
 * NULL: they cannot be read. */
json_t *policy_warnings(struct call *call, const struct policy_row *policy);

/* Sets *OUT to the array of the names that POLICY has now. New reference, whatever is returned. */
enum db_status policy_names_json(struct db *db, const char *policy, json_t **out);

/* Finds the policy of that id or name if the caller owns it, or may read it, and it is not deleted;
 * PROBLEM_NOT_FOUND otherwise. A name is the caller's own, or else one of which the caller may read
 * the policy; PROBLEM_CONFLICT when it may read several. A GET then says which policy it was. */
enum problem policy_of_reader(struct call *call, const char *id, struct policy_row *out);

/* The same for its owner alone. */
enum problem policy_of_owner(struct call *call, const char *id, struct policy_row *out);

/* True when the policy was trained without privacy on private data. Nothing computed from its
 * weights may then leave without noise. */
bool policy_is_secret(const struct policy_row *row);

/* PROBLEM_NONE when weights of the policy, and what they compute, may leave: a guarantee covers
 * them, or they came from the caller itself (who is the owner: others do not find the policy). */
enum problem policy_may_leave(struct call *call, const struct policy_row *row);

/* Finds {id} as policy_of_reader does, and loads its network if it may leave. *OUT is valid for the
 * life of the call. */
enum problem policy_open(struct call *call, struct policy_row *row, struct policy **out);

/* Loads and decodes the network of policy ROW, which is not an ensemble. The caller frees it with
 * policy_free. NULL with DB_OK: it was erased with its dataset. */
enum db_status policy_load(const struct app *app, struct db *db, const struct policy_row *row,
                           struct policy **out);

#endif
