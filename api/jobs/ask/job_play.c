/* Finds the policy or Q-release to play when the job is requested; run_play.c finds it again when
 * the job runs. */
#include "api/jobs/ask/job_parts.h"

#include <stdio.h>
#include <string.h>

#include "api/jobs/ask/job_kind.h"
#include "api/policies/policies.h"
#include "api/releases/q_releases.h"
#include "api/releases/q_shelf.h"

static enum problem fit_policy(struct call *call, const char *id, struct job_plan *plan)
{
    struct policy_row row;
    struct policy *policy = NULL;
    enum problem problem = policy_of_owner(call, id, &row);
    if (problem == PROBLEM_NOT_FOUND)
        call_invalid(call, "/policy", "is not known");
    if (problem == PROBLEM_NONE)
        problem = policy_may_leave(call, &row);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = policy_load(call->app, call->db, &row, &policy);
    if (status != DB_OK)
        return call_db(call, status);
    memcpy(plan->policy, row.id, sizeof plan->policy);
    memcpy(plan->project, row.owner, sizeof plan->project);
    plan->request.state_dim = row.state_dim;
    plan->request.action_count = row.action_count;
    plan->request.played = policy->shape;
    policy_free(policy);
    return PROBLEM_NONE;
}

/* A network about as costly as the release. Only the length of a block of episodes depends on it.
 */
static struct mlp_shape release_shape(const struct q_terms *terms)
{
    struct mlp_shape shape = {.input = terms->state_dim, .activation = MLP_RELU};
    if (terms->features > 0)
        shape.width[shape.layer_count++] = terms->features;
    shape.width[shape.layer_count++] = terms->action_count;
    return shape;
}

static enum problem fit_release(struct call *call, const char *id, struct job_plan *plan)
{
    const struct q_release *release = NULL;
    enum problem problem = q_release_of_owner(call, id, plan->project);
    if (problem == PROBLEM_NOT_FOUND)
        call_invalid(call, "/q_release", "is not known, or has ended");
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = q_shelf_borrow(call->app, call->db, id, &release);
    if (status != DB_OK)
        return call_db(call, status);
    const struct q_terms *terms = q_release_terms(release);
    snprintf(plan->q_release, sizeof plan->q_release, "%s", id);
    plan->request.state_dim = terms->state_dim;
    plan->request.action_count = terms->action_count;
    plan->request.played = release_shape(terms);
    q_shelf_return(call->app, release);
    return PROBLEM_NONE;
}

enum problem job_play_fit(struct call *call, const struct job_members *members,
                          struct job_plan *plan)
{
    plan->request.episodes = plan->episodes;
    if (members->policy)
        return fit_policy(call, members->policy, plan);
    return fit_release(call, members->q_release, plan);
}
