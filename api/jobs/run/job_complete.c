/* DESIGN. The finished policy takes the checkpoint's place before it is evaluated. A stop or a
 * crash during the evaluation then loses nothing, and the policy that is evaluated later is the
 * same to the bit. That matters where the world is a program: whatever it sees of a policy is an
 * output. A second policy, trained again from an older checkpoint with fresh noise, would be an
 * output that nobody paid for. So a program sees only released policies that are on disk. */
#include "api/jobs/run/job_run.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/noise/noise_continuous.h"
#include "api/call/app.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/run/run_release.h"
#include "api/policies/environment_find.h"
#include "api/worlds/world_run.h"
#include "storage/datasets.h"

#define LEASE_EVALUATE_MS 300000 /* one block of episodes may be long */

void job_complete_round(struct policy *policy)
{
    size_t count = mlp_parameter_count(&policy->shape);
    for (size_t i = 0; i < count; i++)
        policy->parameters[i] = (float)noise_round_to_grid(policy->parameters[i], NOISE_UNIT_GRID);
}

/* ---- keeping */

static bool keep_policy(struct job_run *run, const struct policy *policy)
{
    unsigned char *bytes = NULL, *box = NULL;
    size_t size = 0, box_size = 0;
    if (db_broken(run->db)) {
        run->storage_failed = true;
        return false;
    }
    bool closed = policy_to_bytes(policy, &bytes, &size) &&
                  job_checkpoint_close(run, bytes, size, &box, &box_size);
    free(bytes);
    run->waiting = !closed;
    if (!closed)
        return false;
    struct job_checkpoint checkpoint = {.id = run->job.id,
                                        .worker = run->control->worker,
                                        .step = (int64_t)run->step,
                                        .bytes = box,
                                        .size = box_size,
                                        .lease_ms = LEASE_EVALUATE_MS};
    struct job_lease lease = {0};
    enum db_status status = job_lease_save(run, &checkpoint, &lease);
    free(box);
    run->storage_failed = status != DB_OK || db_broken(run->db);
    run->lost = status == DB_OK && !lease.ours;
    run->cancelled = status == DB_OK && lease.ours && lease.cancel_requested;
    return !run->storage_failed && !run->lost && !run->cancelled;
}

struct policy *job_complete_kept(struct job_run *run)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    int64_t step = 0;
    struct dataset_row row;
    struct policy *policy = NULL;
    /* What is sealed is never evaluated, and nothing of it is kept between training and end. */
    if (!run->resumed || run->step < run->plan.plan.total_steps ||
        job_plan_seals_checkpoints(&run->plan))
        return NULL;
    enum db_status status = job_checkpoint_load(run, &step, &bytes, &size);
    if (bytes)
        policy = policy_from_bytes(bytes, size);
    /* Memory most likely ran out while the policy was decoded. Wait; the policy is not trained a
     * second time. */
    if (bytes && !policy && size > 4 && memcmp(bytes, "TCPL", 4) == 0)
        run->waiting = true;
    sodium_free(bytes);
    if (policy && run->job.dataset[0] != '\0') {
        status = datasets_find(run->db, run->job.dataset, &row);
        if (status == DB_OK)
            snprintf(run->environment, sizeof run->environment, "%s", row.environment);
    }
    run->storage_failed = status != DB_OK && status != DB_NONE;
    if (policy && (run->storage_failed || (uint64_t)step != run->plan.plan.total_steps ||
                   policy->shape.input != run->plan.request.state_dim)) {
        policy_free(policy);
        return NULL;
    }
    run->trained = run->trained || policy;
    return policy;
}

/* ---- evaluating */

static bool evaluation_goes_on(void *context)
{
    struct job_run *run = context;
    return !job_run_must_stop(run) && job_run_beat(run, true, LEASE_EVALUATE_MS);
}

/* Goes on with the job unless it must stop. The episodes are the job's steps when nothing was
 * trained. */
static bool episodes_go_on(void *context, uint32_t done)
{
    struct job_run *run = context;
    if (!run->trained)
        run->step = done;
    return evaluation_goes_on(run);
}

/* Room for the reason in a detail, beside the sentence about the kept policy. */
#define JOB_WHY_MAX (JOB_DETAIL_SIZE - 110)

void job_complete_unevaluated(struct job_run *run, struct policy *policy, const char *why,
                              struct job_ending *ending)
{
    const char *member = "policy";
    if (run->release)
        member = "q_release";
    snprintf(run->detail, sizeof run->detail,
             "The policy is trained, paid for and kept: see the member %s. Only its evaluation is "
             "missing: %.*s.",
             member, JOB_WHY_MAX, why);
    job_ending_fail(ending, PROBLEM_EVALUATION_FAILED, run->detail);
    ending->policy = policy;
    ending->evaluated = false;
}

enum job_score job_complete_score(struct job_run *run, const struct job_plan *plan,
                                  const struct job_player *player, struct policy_evaluation *out,
                                  char why[JOB_DETAIL_SIZE])
{
    const struct env *world = NULL;
    enum db_status status = environment_take(run->app, run->db, plan->evaluate.name, &world);
    if (status == DB_NONE) {
        snprintf(why, JOB_DETAIL_SIZE, "this server has no such world any more");
        return JOB_SCORE_UNKNOWN;
    }
    if (status != DB_OK) {
        run->storage_failed = status == DB_FAILED;
        run->waiting = status != DB_FAILED;
        return JOB_SCORE_STOPPED;
    }
    struct world_run *playing = world_run_open(world, evaluation_goes_on, run);
    bool played = job_evaluate(plan, world_run_env(playing), player, episodes_go_on, run, out);
    enum world_fault fault = world_run_fault(playing);
    world_run_close(playing);
    environment_release(world);
    if (played)
        return JOB_SCORE_FOUND;
    if (job_run_held_up(run) != ALGORITHM_OK)
        return JOB_SCORE_STOPPED;
    /* A built-in world breaks only when memory runs out. */
    run->waiting = fault == WORLD_OK && out->broken;
    if (run->waiting)
        return JOB_SCORE_STOPPED;
    if (fault != WORLD_OK) {
        snprintf(why, JOB_DETAIL_SIZE, "the world's program %s", world_fault_text(fault));
    } else {
        snprintf(why, JOB_DETAIL_SIZE,
                 "the policy does not fit the world, or its outputs are not finite there");
    }
    return JOB_SCORE_UNKNOWN;
}

/* Evaluates POLICY and fills ENDING. False: the job must stop. */
static bool evaluate_policy(struct job_run *run, struct policy *policy, struct job_ending *ending)
{
    char why[JOB_DETAIL_SIZE];
    const struct job_player player = {.policy = policy, .release = run->release};
    enum job_score score = job_complete_score(run, &run->plan, &player, &ending->evaluation, why);
    ending->evaluated = score == JOB_SCORE_FOUND;
    if (score == JOB_SCORE_UNKNOWN)
        job_complete_unevaluated(run, policy, why, ending);
    return score != JOB_SCORE_STOPPED;
}

/* Completes a sweep. Every try was judged already, and the policy is rounded. */
static void complete_sweep(struct job_run *run, struct policy *policy, struct job_ending *ending)
{
    ending->evaluated = run->best_known;
    ending->evaluation = run->best_played;
    if (!run->best_known)
        job_complete_unevaluated(run, policy, "no try of the sweep could be played", ending);
}

bool job_complete(struct job_run *run, struct policy *policy, struct job_ending *ending)
{
    run->step = run->plan.plan.total_steps;
    bool judged = run->plan.judge[0] != '\0' || run->plan.request.judge.held_out > 0.0;
    ending->state = JOB_SUCCEEDED;
    ending->policy = policy;
    if (run->plan.shards > 0)
        return true;
    if (run->plan.try_count > 0) {
        complete_sweep(run, policy, ending);
        return !judged || job_judge(run, policy);
    }
    if (run->plan.request.mechanism != MECHANISM_NONE && !run->release)
        job_complete_round(policy);
    bool played = run->plan.evaluate.name[0] != '\0';
    if ((!played && !judged) || !job_plan_releases(&run->plan))
        return true;
    bool kept;
    if (run->release)
        kept = job_release_keep(run);
    else
        kept = keep_policy(run, policy);
    run->finished = run->finished || kept;
    return kept && (!judged || job_judge(run, policy)) &&
           (!played || evaluate_policy(run, policy, ending));
}
