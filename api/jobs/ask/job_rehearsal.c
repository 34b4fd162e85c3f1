/* Requests for rehearsals: what they may have, and what a plan keeps of the dataset. */
#include "api/jobs/ask/job_parts.h"

#include "algos/offline/expert_clones.h"
#include "api/call/fields.h"

const char job_rehearsal_note[] =
    "A rehearsal: it trains on made-up data of the dataset's shape with the plan's noise, reads "
    "nothing of the dataset's contents, costs nothing and gives no policy. findings.rehearsal says "
    "what came of it; with other data other returns are to be expected.";

/* Members that speak of a policy to have, or of the data. */
static const char *const refused[] = {"evaluate", "sweep", "judge", "audit", "shards"};

void job_rehearsal_read(struct call *call, bool rehearse, struct job_plan *out)
{
    const struct algorithm_request *request = &out->request;
    if (!rehearse)
        return;
    if (out->algorithm->kind != ALGORITHM_LEARNS_FROM_DATA ||
        request->mechanism == MECHANISM_NONE) {
        call_invalid(call, "/rehearse",
                     "needs an algorithm that learns a policy from a dataset, under a mechanism "
                     "with noise: there is nothing else to rehearse");
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (field_sent(call->body, refused[i])) {
            call_invalid(call, arena_format(&call->arena, "/%s", refused[i]),
                         "has no meaning in a rehearsal, which gives no policy");
        }
    }
    out->rehearsal.runs = REHEARSAL_RUNS;
}

/* True when clones of all made-up experts fit into the job's memory, where it makes them. */
static bool rehearsal_clones_fit(const struct algorithm_request *request)
{
    const struct clone_settings clones = clone_defaults();
    size_t each = clone_bytes(&clones, request->state_dim, request->action_count);
    return request->stage.kind == STAGE_NONE ||
           request->nominal_experts <= JOB_NETWORKS_MAX_BYTES / each;
}

enum problem job_rehearsal_fit(struct call *call, const struct dataset_row *dataset,
                               struct job_plan *plan)
{
    const struct algorithm_request *request = &plan->request;
    if (plan->rehearsal.runs == 0)
        return PROBLEM_NONE;
    plan->rehearsal.max_episode_steps = dataset->max_episode_steps;
    plan->rehearsal.min_action_probability = dataset->min_action_probability;
    if (!rehearsal_fits(plan->algorithm, request, &plan->rehearsal)) {
        return call_invalid(call, "/rehearse",
                            "needs a dataset of at most %d numbers a state, of 2 to %d actions and "
                            "of at most %u experts",
                            ENV_MAX_STATE_DIM, ENV_MAX_ACTIONS, REHEARSAL_MAX_EXPERTS);
    }
    if (!rehearsal_clones_fit(request)) {
        return call_invalid(call, "/rehearse",
                            "makes up %u experts, whose cloned policies take over %zu MiB",
                            request->nominal_experts, JOB_NETWORKS_MAX_BYTES >> 20);
    }
    return PROBLEM_NONE;
}
