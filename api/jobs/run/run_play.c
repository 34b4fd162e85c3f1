/* Plays a policy or Q-release. Whether it may be played is checked at the request and again here.
 *
 * DESIGN. A stored policy never changes, and its episodes are a function of public seeds. A job
 * that was stopped or killed therefore plays again and finds the same numbers. A Q-release may be
 * ended meanwhile; then the job fails. */
#include "api/jobs/run/job_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/policies/policies.h"
#include "api/releases/q_shelf.h"

/* Loads the policy to play. DB_NONE: there is none, or it may not leave. */
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
    if (status == DB_OK)
        *out = policy_from_bytes(bytes, size);
    run->waiting = status == DB_OK && !*out; /* memory, most likely */
    free(bytes);
    return status;
}

static bool play_player(struct job_run *run, const struct job_player *player,
                        struct job_ending *ending)
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
    enum db_status status;
    if (of_policy)
        status = open_policy(run, &policy);
    else
        status = q_shelf_borrow(run->app, run->db, run->plan.q_release, &release);
    run->storage_failed = status != DB_OK && status != DB_NONE;
    if (status == DB_NONE) {
        const char *detail = "The released Q-function has ended.";
        if (of_policy)
            detail = "There is no such policy any more.";
        job_ending_fail(ending, PROBLEM_EVALUATION_FAILED, detail);
        return true;
    }
    if (policy || release) {
        const struct job_player player = {.policy = policy, .release = release};
        over = play_player(run, &player, ending);
    }
    policy_free(policy);
    if (release)
        q_shelf_return(run->app, release);
    return over;
}
