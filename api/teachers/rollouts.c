/* The vanishing schedule. It moves when the client says so: a roll-out is the client's notion. */
#include "api/teachers/queries.h"

#include <math.h>
#include <string.h>

#include "api/json/json_text.h"
#include "api/teachers/teachers.h"

/* A concentration this close to the least one, relatively, is taken for it: where the exact
 * schedule lands on the least one, the computed schedule may be off by some roundings. */
#define LANDING 1e-9

double rollout_least(const struct teacher_row *row)
{
    return fmin(1 / row->min_probability, row->concentration);
}

double rollout_concentration(const struct teacher_row *row, int64_t rollout, bool *out_floor)
{
    *out_floor = false;
    if (rollout <= 0 || row->concentration <= 0 || row->vanishing >= 1)
        return row->concentration;
    double k = row->concentration * pow(row->vanishing, (double)rollout),
           least = rollout_least(row);
    if (k > least * (1 + LANDING))
        return k;
    if (k >= least * (1 - LANDING) || strcmp(row->at_floor, "charge") == 0)
        return least;
    *out_floor = true;
    return 0;
}

enum problem api_rollouts_begin(struct call *call)
{
    struct teacher_row row;
    struct teacher_client_row standing;
    enum problem problem = teacher_of_call(call, &row);
    if (problem != PROBLEM_NONE || (problem = teacher_check_open(call, row.id)) != PROBLEM_NONE ||
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
