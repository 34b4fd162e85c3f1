/* Experts' own policies. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/data/datasets.h"
#include "api/data/erasure.h"
#include "api/data/expert_names.h"
#include "api/data/private_data.h"
#include "api/policies/network_json.h"

/* Registers the caller's expert of the path where it is new, and stores its network. */
static enum db_status put_network(struct call *call, const struct dataset_row *dataset,
                                  const unsigned char *bytes, size_t size,
                                  enum dataset_verdict *out_verdict)
{
    struct expert_policy put = {.dataset = dataset->id, .now_ms = call->now_ms};
    const char *name = call_parameter(call, "expert");
    const struct expert_names names = {.dataset = dataset->id,
                                       .client = call->caller.id,
                                       .names = &name,
                                       .count = 1,
                                       .max_own = call->app->settings.max_experts_per_dataset,
                                       .now_ms = call->now_ms};
    struct experts_outcome outcome = {.verdict = DATASET_UNKNOWN};
    unsigned char *box = NULL;
    enum db_status status = datasets_register_experts(call->db, &names, &put.number, &outcome);
    *out_verdict = outcome.verdict;
    if (status != DB_OK || outcome.verdict != DATASET_OK)
        return status;
    status = private_policy_close(call->app, put.dataset, put.number, outcome.new_experts > 0,
                                  bytes, size, &box, &put.size);
    put.bytes = box;
    if (status == DB_OK)
        status = datasets_put_policy(call->db, &put);
    free(box);
    return status;
}

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
    problem = erasure_refuse_names(call, dataset.id, &expert, 1);
    if (problem != PROBLEM_NONE)
        return problem;
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
    enum dataset_verdict verdict = DATASET_UNKNOWN;
    enum db_status status = DB_OK;
    problem = dataset_check_disk(call, size + PRIVATE_POLICY_MORE);
    if (problem == PROBLEM_NONE)
        status = put_network(call, &dataset, bytes, size, &verdict);
    sodium_memzero(bytes, size);
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
