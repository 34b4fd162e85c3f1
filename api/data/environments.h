/* The catalogue of simulated worlds. */
#ifndef TACET_API_ENVIRONMENTS_H
#define TACET_API_ENVIRONMENTS_H

#include "api/call.h"

enum problem api_environments_list(struct call *call); /* GET /v1/environments */

#endif
