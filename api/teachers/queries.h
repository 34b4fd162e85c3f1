/* Asking a teacher: debit first, then the noise, then the answer; all in one transaction with the
 * stored answer. */
#ifndef TACET_API_TEACHERS_QUERIES_H
#define TACET_API_TEACHERS_QUERIES_H

#include "api/call/call.h"

/* POST /v1/teachers/{id}/queries */
enum problem api_queries_ask(struct call *call);

/* The sums of a heavy question, outside of any transaction. */
enum problem api_queries_prepare(struct call *call);

/* Its row in the table of endpoints; a job that asks a teacher uses it too (teacher_ask.h). */
#define QUERIES_ROUTE                                                                              \
    {                                                                                              \
        "POST", "/v1/teachers/{id}/queries", API_LANE_BATCH, ROLE_STUDENT | ROLE_STEWARD,          \
            ROUTE_KEY_REQUIRED | ROUTE_HEAVY, BODY_JSON, "", api_queries_prepare, api_queries_ask, \
            "Asks for a noisy answer and pays for it."                                             \
    }

/* POST /v1/teachers/{id}/queries:estimate (query_estimate.c) */
enum problem api_queries_estimate(struct call *call);

#endif
