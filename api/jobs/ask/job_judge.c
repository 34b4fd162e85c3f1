/* Checks the dataset that is to judge a policy. */
#include "api/jobs/ask/job_parts.h"

#include <string.h>

#include "api/call/fields.h"
#include "api/data/datasets.h"
#include "api/jobs/ask/job_kind.h"

void job_judge_read(struct call *call, const json_t *object, const char **out)
{
    const struct field fields[] = {field_text("dataset", out, 1, ID_SIZE - 1)};
    (void)fields_read(call, object, "/judge", fields, 1);
}

enum problem job_judge_fit(struct call *call, const char *id, struct job_plan *plan)
{
    struct dataset_row row;
    enum problem problem = dataset_of_owner(call, id, &row);
    if (problem != PROBLEM_NONE) {
        if (problem == PROBLEM_NOT_FOUND)
            call_invalid(call, "/judge/dataset", "is not known");
        return problem;
    }
    if (!row.is_public) {
        return call_invalid(
            call, "/judge/dataset",
            "must be public: an estimate from private data would reveal something about them");
    }
    if (row.state != DATASET_SEALED || row.transitions == 0)
        return call_invalid(call, "/judge/dataset", "must be sealed and hold trajectories");
    if (row.state_dim != plan->request.state_dim ||
        row.action_count != plan->request.action_count) {
        return call_invalid(call, "/judge/dataset",
                            "has states of %u numbers and %u actions; what is learned has %u and "
                            "%u",
                            row.state_dim, row.action_count, plan->request.state_dim,
                            plan->request.action_count);
    }
    if (!job_plan_releases(plan)) {
        return call_invalid(call, "/judge",
                            "is not possible here: the policy is not released, and its value would "
                            "depend on the data");
    }
    memcpy(plan->judge, row.id, sizeof plan->judge);
    plan->judge_discount = row.discount;
    return PROBLEM_NONE;
}
