/* The first stage of a job at work: its experts, its world, and the disk between both stages. */
#include "algos/offline/expert_clones.h"
#include "algos/offline/stage.h"
#include "api/app.h"
#include "api/job_stage.h"
#include "api/world_run.h"

struct staged {
    struct job_run *run;
    const struct algorithm_run *training;
    bool unreadable; /* a network of an expert */
};

/* Networks as they were uploaded, and clones of those who uploaded none. */
static enum algorithm_status experts(void *context, struct expert_policies **out)
{
    struct staged *staged = context;
    const struct algorithm_run *training = staged->training;
    struct expert_policies *policies = job_run_load_experts(staged->run);
    if (policies == NULL) {
        const struct job_run *run = staged->run;
        if (run->starved) {
            return ALGORITHM_NO_MEMORY;
        }
        staged->unreadable = !run->lost && !run->storage_failed && !run->stopping;
        return staged->unreadable ? ALGORITHM_BAD_INPUT : ALGORITHM_PAUSED;
    }
    const struct clone_settings settings = clone_defaults();
    enum algorithm_status status = expert_clones_fill(policies, training->data, &settings,
                                                      training->request->seed, &training->hooks, 0);
    if (status != ALGORITHM_OK) {
        expert_policies_free(policies);
        return status;
    }
    *out = policies;
    return ALGORITHM_OK;
}

/* The training's own save goes on when the disk is full, as what it would lose is run again; this
 * must not be lost. */
static bool keep(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    const struct staged *staged = context;
    return job_run_keep(staged->run, steps_done, bytes, size);
}

static bool go_on(void *context)
{
    struct job_run *run = context;
    return job_run_goes_on(run);
}

/* A world that was told to stop looks like one that broke. */
static enum algorithm_status interrupted(const struct job_run *run)
{
    if (run->cancelled) {
        return ALGORITHM_CANCELLED;
    }
    bool held_up = run->lost || run->storage_failed || run->stopping;
    return held_up ? ALGORITHM_PAUSED : ALGORITHM_BAD_INPUT;
}

enum algorithm_status job_stage_train(struct job_run *run, const struct algorithm_run *training,
                                      struct policy **out_policy, const char **message)
{
    const struct stage_request *stage = &run->plan.request.stage;
    struct staged staged = {.run = run, .training = training};
    struct stage_run both = {.algorithm = run->plan.algorithm,
                             .run = training,
                             .experts = experts,
                             .keep = keep,
                             .context = &staged};
    bool played = stage->kind == STAGE_CONSENSUS ||
                  (stage->kind == STAGE_STABLE && stage->source == STABLE_ROLLOUTS);
    struct world_run *world = NULL;
    if (played && training->checkpoint == NULL) {
        const struct worlds *worlds = run->app->settings.worlds;
        const struct env *found = worlds_find(worlds, run->environment);
        if (found == NULL) {
            *message = "this server has no such world any more";
            return ALGORITHM_BAD_INPUT;
        }
        world = world_run_open(worlds, found, go_on, run);
        if (world == NULL) {
            return ALGORITHM_NO_MEMORY;
        }
        both.env = world_run_env(world);
    }
    enum algorithm_status status = stage_train(&both, out_policy, message);
    world_run_close(world);
    if (staged.unreadable) {
        *message = "an expert's network could not be read, or they do not fit into memory";
    }
    return status == ALGORITHM_BAD_INPUT ? interrupted(run) : status;
}
