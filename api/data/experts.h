/* Experts' own policies. */
#ifndef TACET_API_DATA_EXPERTS_H
#define TACET_API_DATA_EXPERTS_H

#include "api/call/call.h"

/* PUT /v1/datasets/{id}/experts/{expert}/policy: an expert's network, new or in place of another.
 */
enum problem api_experts_put_policy(struct call *call);

#endif
