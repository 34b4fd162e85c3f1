/* The vanishing schedule. It moves when the client says so: a roll-out is the client's notion. */
#include "api/rollouts.h"

#include "api/json_text.h"
#include "api/teachers.h"

double rollout_concentration(const struct teacher_row *row, int64_t rollout)
{
    double k = row->concentration, least = k > 0 ? 1 / row->min_probability : 0;
    while (rollout-- > 0 && row->vanishing < 1 && k > least) {
        k *= row->vanishing;
    }
    return k > least ? k : least < row->concentration ? least : row->concentration;
}

json_t *rollout_reply(json_t *reply, double concentration)
{
    if (concentration > 0 &&
        json_object_set_new(reply, "concentration", json_number(concentration)) != 0) {
        json_decref(reply);
        return NULL;
    }
    return reply;
}

enum problem api_rollouts_begin(struct call *call)
{
    struct teacher_row row;
    struct teacher_client_row standing;
    enum problem problem = teacher_of_call(call, &row);
    if (problem != PROBLEM_NONE ||
        (problem = teacher_standing_of_call(call, &row, &standing)) != PROBLEM_NONE) {
        return problem;
    }
    int64_t rollout = 0;
    enum db_status status =
        teachers_client_next_rollout(call->db, row.id, call->caller.id, &rollout);
    if (status != DB_OK) {
        return call_db(call, status == DB_NONE ? DB_FAILED : status);
    }
    json_t *reply = json_pack("{s:I}", "rollout", (json_int_t)rollout);
    return call_reply_json(call, 200, rollout_reply(reply, rollout_concentration(&row, rollout)));
}
