/* The vanishing schedule. It moves when the client says so: a roll-out is the client's notion. */
#include "api/teachers/queries.h"

#include <string.h>

#include "api/json/json_text.h"
#include "api/teachers/teachers.h"

double rollout_concentration(const struct teacher_row *row, int64_t rollout, bool *out_floor)
{
    double k = row->concentration, least = 0;
    *out_floor = false;
    if (k > 0)
        least = 1 / row->min_probability;
    while (rollout-- > 0 && row->vanishing < 1 && k > least)
        k *= row->vanishing;
    if (k >= least || k == row->concentration)
        return k;
    *out_floor = strcmp(row->at_floor, "charge") != 0;
    if (*out_floor)
        return 0;
    return least;
}

enum problem api_rollouts_begin(struct call *call)
{
    struct teacher_row row;
    struct teacher_client_row standing;
    enum problem problem = teacher_of_call(call, &row);
    if (problem != PROBLEM_NONE ||
        (problem = teacher_standing_of_call(call, &row, &standing)) != PROBLEM_NONE)
        return problem;
    int64_t rollout = 0;
    enum db_status status =
        teachers_client_next_rollout(call->db, row.id, call->caller.id, &rollout);
    if (status != DB_OK)
        return call_db(call, status);
    bool floor = false;
    double concentration = rollout_concentration(&row, rollout, &floor);
    json_t *reply = json_pack("{s:I, s:n}", "rollout", (json_int_t)rollout, "at_floor");
    if (floor)
        json_object_set_new(reply, "at_floor", json_string(row.at_floor));
    if (concentration > 0)
        json_object_set_new(reply, "concentration", json_number(concentration));
    return call_reply_json(call, 200, reply);
}
