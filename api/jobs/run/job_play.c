/* What may be played, looked for when it is asked for and again when it is played.
 *
 * DESIGN. A row of policies never changes and what it plays is a function of public seeds, so a job
 * that was stopped or killed simply plays again and finds the same numbers. A Q-release can be
 * ended meanwhile: then the job fails. */
#include "api/jobs/run/job_play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/jobs/run/job_complete.h"
#include "api/jobs/run/job_evaluate.h"
#include "api/policies/policies.h"
#include "api/releases/q_releases.h"
#include "api/releases/q_shelf.h"

/* ---- asking */

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

/* ---- playing */

/* DB_NONE: it is not there, or may not leave. */
static enum db_status open_policy(struct job_run *run, struct policy **out)
{
    struct policy_row row;
    void *bytes = NULL;
    size_t size = 0;
    enum db_status status = policies_find(run->db, run->plan.policy, &row);
    if (status == DB_OK &&
        (strcmp(row.owner, run->job.owner) != 0 || policy_is_secret(&row) || row.shards > 0))
        return DB_NONE;
    if (status == DB_OK)
        status = policies_bytes(run->db, row.id, &bytes, &size);
    *out = status == DB_OK ? policy_from_bytes(bytes, size) : NULL;
    run->starved = status == DB_OK && !*out; /* memory, most likely */
    free(bytes);
    return status;
}

static bool play(struct job_run *run, const struct job_player *player, struct job_ending *ending)
{
    char why[JOB_DETAIL_SIZE];
    enum job_score score = job_complete_score(run, &run->plan, player, &ending->evaluation, why);
    if (score == JOB_SCORE_FOUND) {
        run->step = run->plan.plan.total_steps;
        ending->state = JOB_SUCCEEDED;
        ending->evaluated = true;
    }
    if (score == JOB_SCORE_UNKNOWN) {
        snprintf(run->detail, sizeof run->detail, "It could not be played: %.*s.",
                 JOB_DETAIL_SIZE - 30, why);
        job_ending_fail(ending, PROBLEM_EVALUATION_FAILED, run->detail);
    }
    return score != JOB_SCORE_STOPPED;
}

bool job_play(struct job_run *run, struct job_ending *ending)
{
    struct policy *policy = NULL;
    const struct q_release *release = NULL;
    bool of_policy = run->plan.policy[0] != '\0', over = false;
    run->finished = true;
    enum db_status status = of_policy
                                ? open_policy(run, &policy)
                                : q_shelf_borrow(run->app, run->db, run->plan.q_release, &release);
    run->storage_failed = status != DB_OK && status != DB_NONE;
    if (status == DB_NONE) {
        job_ending_fail(ending, PROBLEM_EVALUATION_FAILED,
                        of_policy ? "There is no such policy any more."
                                  : "The released Q-function has ended.");
        return true;
    }
    if (policy || release) {
        const struct job_player player = {.policy = policy, .release = release};
        over = play(run, &player, ending);
    }
    policy_free(policy);
    if (release)
        q_shelf_return(run->app, release);
    return over;
}
