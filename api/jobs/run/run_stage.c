/* Runs a job's first stage: opens its world, and stores its result before the second stage. */
#include "algos/offline/stage.h"
#include "api/call/app.h"
#include "api/jobs/run/job_run.h"
#include "api/worlds/world_run.h"

/* Stores the first stage's result and fails when the disk is full. The training's own checkpoints
 * may fail, because lost steps are run again; this result must not be lost. */
static bool stage_keep(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    return job_run_keep(context, steps_done, bytes, size);
}

static bool stage_goes_on(void *context)
{
    return job_run_goes_on(context);
}

enum algorithm_status job_stage_train(struct job_run *run, const struct algorithm_run *training,
                                      struct policy **out_policy, const char **message)
{
    const struct stage_request *stage = &run->plan.request.stage;
    struct stage_run both = {
        .algorithm = run->plan.algorithm, .run = training, .keep = stage_keep, .context = run};
    bool played = (stage->kind == STAGE_CONSENSUS && stage->grid.dims == 0) ||
                  (stage->kind == STAGE_STABLE && stage->source == STABLE_ROLLOUTS);
    struct world_run *world = NULL;
    if (played && !training->checkpoint) {
        const struct worlds *worlds = run->app->settings.worlds;
        const struct env *found = worlds_find(worlds, run->environment);
        if (!found) {
            *message = "this server has no such world any more";
            return ALGORITHM_BAD_INPUT;
        }
        world = world_run_open(found, stage_goes_on, run);
        if (!world)
            return ALGORITHM_NO_MEMORY;
        if (world_run_is_program(world)) {
            world_run_close(world);
            *message = "experts are played in no world that is a program";
            return ALGORITHM_BAD_INPUT;
        }
        both.env = world_run_env(world);
    }
    enum algorithm_status status = stage_train(&both, out_policy, message);
    world_run_close(world);
    /* A world that was told to stop looks like one that broke. */
    if (status == ALGORITHM_BAD_INPUT && job_run_held_up(run) != ALGORITHM_OK)
        return job_run_held_up(run);
    return status;
}
