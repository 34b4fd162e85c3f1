/* Asking a teacher: debit first, then the noise, then the answer; all in one transaction with the
 * stored answer. */
#ifndef TACET_API_TEACHERS_QUERIES_H
#define TACET_API_TEACHERS_QUERIES_H

#include "api/call/call.h"
#include "storage/teachers.h"

/* POST /v1/teachers/{id}/queries */
enum problem api_queries_ask(struct call *call);

/* Computes a heavy question's distributions outside of any transaction. */
enum problem api_queries_prepare(struct call *call);

/* Its row in the table of endpoints; a job that asks a teacher uses it too (teacher_ask.h). */
#define QUERIES_ROUTE                                                                              \
    {                                                                                              \
        "POST", "/v1/teachers/{id}/queries", API_LANE_BATCH, ROLE_STUDENT | ROLE_STEWARD,          \
            ROUTE_KEY_REQUIRED | ROUTE_DATED_KEY | ROUTE_HEAVY | ROUTE_NO_TRAIL, BODY_JSON, "",    \
            api_queries_prepare, api_queries_ask, "Asks for a noisy answer and pays for it."       \
    }

/* POST /v1/teachers/{id}/queries:estimate (query_estimate.c) */
enum problem api_queries_estimate(struct call *call);

/* ---- roll-outs of a client at a teacher: with each, a vanishing teacher tells less (rollouts.c)
 */

/* POST /v1/teachers/{id}/rollouts */
enum problem api_rollouts_begin(struct call *call);

/* Its row in the table of endpoints; a job that asks a teacher uses it too (teacher_ask.h). */
#define ROLLOUTS_ROUTE                                                                             \
    {                                                                                              \
        "POST", "/v1/teachers/{id}/rollouts", API_LANE_BATCH, ROLE_STUDENT | ROLE_STEWARD,         \
            ROUTE_DATED_KEY | ROUTE_NO_TRAIL, BODY_NONE, "", NULL, api_rollouts_begin,             \
            "Begins the client's next roll-out."                                                   \
    }

/* The least concentration of any answer, 1/eta: below it an answer costs as much and tells less. 0
 * where the mechanism has none. */
double rollout_least(const struct teacher_row *row);

/* The teacher's concentration in the roll-out number ROLLOUT, k v^rollout; 0 where the mechanism
 * has none. A roll-out whose concentration lands on the least one (up to rounding) has exactly that
 * one. Where it would be below, the schedule is at its floor: *OUT_FLOOR is true and the
 * concentration 0. (Teachers made by older versions stay at the least one.) */
double rollout_concentration(const struct teacher_row *row, int64_t rollout, bool *out_floor);

#endif
