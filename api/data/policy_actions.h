/* What a released policy does. */
#ifndef TACET_API_DATA_POLICY_ACTIONS_H
#define TACET_API_DATA_POLICY_ACTIONS_H

#include "api/call/call.h"

/* POST /v1/policies/{id}/actions. It stands here because the description of the policy's dataset
 * says which states the policy has never seen the like of. */
enum problem api_policies_actions(struct call *call);

#endif
