/* Experts' own policies. */
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/data/datasets.h"
#include "api/data/expert_names.h"
#include "api/policies/network_json.h"

enum problem api_experts_put_policy(struct call *call)
{
    struct dataset_row dataset;
    enum problem problem = dataset_of_call(call, &dataset);
    if (problem != PROBLEM_NONE)
        return problem;
    const char *expert = call_parameter(call, "expert");
    const char *wrong = expert_name_problem(expert, strlen(expert));
    if (wrong)
        return call_problem(call, PROBLEM_NOT_FOUND, "The name of an expert %s.", wrong);
    struct policy *policy =
        network_read(call, call->body, "", dataset.state_dim, dataset.action_count);
    if (!policy)
        return PROBLEM_VALIDATION;
    unsigned char *bytes = NULL;
    size_t size = 0;
    bool written = policy_to_bytes(policy, &bytes, &size);
    policy_free(policy);
    if (!written)
        return call_no_memory(call);
    const struct expert_policy put = {.dataset = dataset.id,
                                      .expert = expert,
                                      .client = call->caller.id,
                                      .bytes = bytes,
                                      .size = size,
                                      .max_experts = call->app->settings.max_experts_per_dataset,
                                      .now_ms = call->now_ms};
    enum dataset_verdict verdict = DATASET_UNKNOWN;
    enum db_status status = DB_OK;
    problem = dataset_check_disk(call, size);
    if (problem == PROBLEM_NONE)
        status = datasets_put_policy(call->db, &put, &verdict);
    free(bytes);
    if (problem != PROBLEM_NONE)
        return problem;
    if (status != DB_OK)
        return call_db(call, status);
    if (verdict == DATASET_EXPERTS_LIMIT)
        return call_problem(
            call, PROBLEM_CONFLICT,
            "You have uploaded as many experts as one client may upload to a dataset.");
    if (verdict != DATASET_OK)
        return dataset_refused(call, verdict, "The dataset is sealed: nothing can be changed.");
    return call_reply_empty(call, 204);
}
