/* The catalogue of learning algorithms, their mechanisms and their parameters. */
#ifndef TACET_API_JOBS_ALGORITHMS_H
#define TACET_API_JOBS_ALGORITHMS_H

#include "api/call/call.h"

/* GET /v1/algorithms. */
enum problem api_algorithms_list(struct call *call);

#endif
