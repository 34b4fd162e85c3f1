/* What may be played, looked for when it is asked for; run_play.c looks again when it plays. */
#include "api/jobs/ask/job_play.h"

#include <stdio.h>
#include <string.h>

#include "api/call/fields.h"
#include "api/policies/policies.h"
#include "api/releases/q_releases.h"
#include "api/releases/q_shelf.h"

void job_play_check(struct call *call, const struct job_play_members *members,
                    const struct job_plan *plan)
{
    if (!plan->algorithm->plays_given) {
        if (members->policy)
            call_invalid(call, "/policy", "has no meaning with this algorithm, which makes one");
        if (members->q_release)
            call_invalid(call, "/q_release", "has no meaning with this algorithm");
        return;
    }
    if (!field_sent(call->body, "policy") && !field_sent(call->body, "q_release"))
        call_invalid(call, "/policy", "is required by this algorithm, or q_release");
    if (members->policy && members->q_release)
        call_invalid(call, "/q_release", "must not stand beside policy: one of them is played");
    if (!field_sent(call->body, "evaluate"))
        call_invalid(call, "/evaluate", "is required by this algorithm");
    if (members->judges)
        call_invalid(call, "/judge", "has no meaning with this algorithm, which learns nothing");
}

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
    enum db_status status = policy_load(call->db, row.id, &policy);
    if (status != DB_OK)
        return call_db(call, status);
    memcpy(plan->policy, row.id, sizeof plan->policy);
    plan->request.state_dim = row.state_dim;
    plan->request.action_count = row.action_count;
    plan->request.played = policy->shape;
    policy_free(policy);
    return PROBLEM_NONE;
}

/* A network of about that size: only the length of a block of episodes depends on it. */
static struct mlp_shape shape_of(const struct q_terms *terms)
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
    enum problem problem = q_release_of_owner(call, id);
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
    plan->request.played = shape_of(terms);
    q_shelf_return(call->app, release);
    return PROBLEM_NONE;
}

enum problem job_play_fit(struct call *call, const struct job_play_members *members,
                          struct job_plan *plan)
{
    plan->request.episodes = plan->episodes;
    return members->policy ? fit_policy(call, members->policy, plan)
                           : fit_release(call, members->q_release, plan);
}
