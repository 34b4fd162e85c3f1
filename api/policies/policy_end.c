/* Deleting policies: the weights are erased, and the certificate and what was spent stay. */
#include <string.h>

#include "api/policies/policies.h"
#include "storage/endings.h"
#include "storage/jobs.h"
#include "storage/policy_names.h"
#include "storage/teachers.h"

static bool see_alias(void *context, const struct policy_name_row *row)
{
    char *out = context;
    if (policy_name_stays(row))
        return true;
    memcpy(out, row->name, POLICY_NAME_SIZE);
    return false;
}

/* Sets OUT to an alias that names POLICY now and can be moved. DB_NONE: none does. */
static enum db_status find_alias(struct db *db, const char *policy, char out[POLICY_NAME_SIZE])
{
    out[0] = '\0';
    enum db_status status = policy_names_of(db, policy, see_alias, out);
    return status == DB_OK && out[0] == '\0' ? DB_NONE : status;
}

/* Refuses while something uses the policy ID, and says what. */
static enum problem check_unused(struct call *call, const char *id)
{
    char user[POLICY_NAME_SIZE];
    const char *kind = "teacher", *helps = "close it first";
    enum db_status status = teachers_find_open(call->db, id, user);
    if (status == DB_NONE) {
        kind = "job";
        helps = "wait for its end, or cancel it";
        status = jobs_find_using(call->db, id, user);
    }
    if (status == DB_NONE) {
        kind = "alias";
        helps = "move it first";
        status = find_alias(call->db, id, user);
    }
    if (status != DB_OK)
        return call_db(call, db_optional(status));
    call_problem_member(call, "used_by", json_pack("{s:s}", kind, user));
    return call_problem(call, PROBLEM_CONFLICT, "The %s %s uses the policy: %s.", kind, user,
                        helps);
}

enum problem api_policies_delete(struct call *call)
{
    struct policy_row row;
    struct ending ending = {.deleted_ms = call->now_ms};
    enum problem problem = policy_of_owner(call, call_parameter(call, "id"), &row);
    if (problem == PROBLEM_NONE)
        problem = check_unused(call, row.id);
    if (problem != PROBLEM_NONE)
        return problem;
    memcpy(ending.resource, row.id, ID_SIZE);
    memcpy(ending.client, call->caller.id, ID_SIZE);
    enum db_status status = endings_delete(call->db, &ending);
    if (status == DB_OK)
        status = policies_erase(call->db, row.id);
    return call_reply_done(call, status);
}
