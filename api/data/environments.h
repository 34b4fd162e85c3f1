/* The catalogue of simulated worlds. */
#ifndef TACET_API_DATA_ENVIRONMENTS_H
#define TACET_API_DATA_ENVIRONMENTS_H

#include "api/call/call.h"

/* GET /v1/environments */
enum problem api_environments_list(struct call *call);

#endif
