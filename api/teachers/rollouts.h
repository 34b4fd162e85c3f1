/* Roll-outs of a client at a teacher: with each, a vanishing teacher tells less. */
#ifndef TACET_API_TEACHERS_ROLLOUTS_H
#define TACET_API_TEACHERS_ROLLOUTS_H

#include <stdint.h>

#include "api/call/call.h"
#include "storage/teachers.h"

/* POST /v1/teachers/{id}/rollouts */
enum problem api_rollouts_begin(struct call *call);

/* Its row in the table of endpoints; a job that asks a teacher uses it too (teacher_ask.h). */
#define ROLLOUTS_ROUTE                                                                             \
    {                                                                                              \
        "POST", "/v1/teachers/{id}/rollouts", API_LANE_BATCH, ROLE_STUDENT | ROLE_STEWARD, 0,      \
            BODY_NONE, "", NULL, api_rollouts_begin, "Begins the client's next roll-out."          \
    }

/* The teacher's concentration in the roll-out number ROLLOUT, k v^rollout; 0 where the mechanism
 * has none. Below 1/eta an answer would cost as much and say less. There the schedule is at its
 * floor: *OUT_FLOOR is true and the concentration 0. (Teachers made by older versions stay at
 * 1/eta.) */
double rollout_concentration(const struct teacher_row *row, int64_t rollout, bool *out_floor);

#endif
