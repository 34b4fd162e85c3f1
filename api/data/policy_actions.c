/* The actions of a released policy, and which of the states lie outside of what its dataset
 * declares.
 */
#include "api/data/policy_actions.h"

#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/data/description.h"
#include "api/json/json_text.h"
#include "api/policies/policies.h"

/* Appends the action and the values at STATE. */
static bool add_answer(const struct policy *policy, const float *state, json_t *actions,
                       json_t *values)
{
    float outputs[MLP_MAX_WIDTH];
    uint32_t count = policy_action_count(policy);
    int action = policy_decide(policy, state, outputs);
    if (action < 0)
        return false;
    json_array_append_new(actions, json_integer(action));
    json_t *row = json_array();
    for (uint32_t a = 0; a < count; a++)
        json_array_append_new(row, json_number((double)outputs[a]));
    json_array_append_new(values, row);
    return true;
}

enum problem api_policies_actions(struct call *call)
{
    struct policy_row row;
    struct policy *policy = NULL;
    enum problem problem = policy_open(call, &row, &policy);
    if (problem != PROBLEM_NONE)
        return problem;
    json_t *array = NULL;
    const struct field fields[] = {field_any("states", &array)};
    float *states = NULL;
    if (!fields_read(call, call->body, "", fields, 1))
        return PROBLEM_VALIDATION;
    uint32_t count =
        states_read(call, array, row.state_dim, call->app->settings.max_states_per_query, &states);
    if (count == 0)
        return PROBLEM_VALIDATION;
    json_t *actions = call_own(call, json_array()), *values = call_own(call, json_array());
    for (uint32_t i = 0; i < count; i++) {
        const float *state = states + (size_t)i * row.state_dim;
        if (!add_answer(policy, state, actions, values))
            return call_invalid(call, "/states", "the network has no finite value at state %u", i);
    }
    json_t *warnings = NULL;
    problem = dataset_states_warnings(call, row.dataset, states, count, &warnings);
    if (problem != PROBLEM_NONE)
        return problem;
    return call_reply_json(
        call, 200,
        json_pack("{s:O, s:O, s:o}", "actions", actions, "values", values, "warnings", warnings));
}
