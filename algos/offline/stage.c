/* Two stages: release, save, train. */
#include "algos/offline/stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/consensus.h"
#include "algos/offline/expert_clones.h"
#include "algos/offline/expert_voices.h"
#include "algos/offline/hooks.h"
#include "algos/offline/skill_voices.h"
#include "algos/offline/stable_prefix.h"
#include "algos/offline/stage_state.h"
#include "algos/privacy/noise/noise_source.h"
#include "memory/memory.h"

struct stages {
    const struct stage_run *stage;
    struct dataset *released;
    unsigned char *kept; /* the beginning of every checkpoint */
    size_t kept_size;
    struct dataset *rest;        /* STABLE_LOGGED: the data of the second stage */
    enum algorithm_status ended; /* why the first stage has to stop; ALGORITHM_OK: it goes on */
};

static const struct algorithm_hooks *hooks_of(const struct stages *s)
{
    return &s->stage->run->hooks;
}

/* ---- the first stage */

static bool first_stage_goes_on(void *context)
{
    struct stages *s = context;
    s->ended = hooks_pulse(hooks_of(s), 0, NULL, NULL); /* nothing may be saved yet */
    return s->ended == ALGORITHM_OK;
}

static enum algorithm_status release_labels(struct stages *s, const struct expert_voices *voices,
                                            struct noise_source *noise, const char **message)
{
    const struct algorithm_run *run = s->stage->run;
    const struct stage_request *request = &run->request->stage;
    const struct consensus_run consensus = {.plan = &run->plan->stage.consensus,
                                            .voices = voices,
                                            .env = s->stage->env,
                                            .max_length = request->max_length,
                                            .explore = request->explore,
                                            .rounds = request->rounds,
                                            .seed = run->request->seed,
                                            .noise = noise,
                                            .goes_on = first_stage_goes_on,
                                            .context = s};
    if (request->grid.dims > 0)
        return consensus_grid_release(&consensus, &request->grid, &s->released);
    return consensus_release(&consensus, &s->released, message);
}

static enum algorithm_status release_skilled(struct stages *s, const struct expert_voices *voices,
                                             struct noise_source *noise, const char **message)
{
    const struct algorithm_run *run = s->stage->run;
    const struct env *env = s->stage->env;
    const struct skill_run play = {.voices = voices,
                                   .scale = &run->request->stage.skill,
                                   .env = env,
                                   .max_length = run->request->stage.max_length,
                                   .seed = run->request->seed,
                                   .goes_on = first_stage_goes_on,
                                   .context = s};
    if (env->state_dim != voices->state_dim || env->action_count != voices->action_count) {
        *message = "the world's sizes are not those of the experts' policies";
        return ALGORITHM_BAD_INPUT;
    }
    struct skill_voices *skilled = skill_voices_new(&play);
    if (!skilled)
        return ALGORITHM_CANCELLED;
    const struct expert_voices weighed = skill_voices_of(skilled);
    enum algorithm_status status = release_labels(s, &weighed, noise, message);
    skill_voices_free(skilled);
    return status;
}

static enum algorithm_status release_with(struct stages *s, const struct expert_voices *voices,
                                          struct noise_source *noise, const char **message)
{
    const struct algorithm_run *run = s->stage->run;
    const struct stage_request *request = &run->request->stage;
    if (request->kind == STAGE_CONSENSUS) {
        return request->skill.power > 0.0 ? release_skilled(s, voices, noise, message)
                                          : release_labels(s, voices, noise, message);
    }
    const struct stable_prefix_run stable = {.plan = &run->plan->stage.stable,
                                             .voices = voices,
                                             .source = request->source,
                                             .env = s->stage->env,
                                             .logged = run->data,
                                             .noise = noise,
                                             .goes_on = first_stage_goes_on,
                                             .context = s};
    return stable_prefix_release(&stable, &s->released, message);
}

static enum algorithm_status first_stage(struct stages *s, const char **message)
{
    const struct algorithm_run *run = s->stage->run;
    struct expert_policies *policies = NULL;
    /* Each clone is a function of its own expert's data and of public settings. */
    const struct clone_settings settings = clone_defaults();
    enum algorithm_status status = expert_clones_all(run, &settings, 0, &policies);
    if (status != ALGORITHM_OK)
        return status;
    struct noise_source *own = run->noise ? NULL : noise_source_new("first stage");
    struct noise_source *noise = run->noise ? run->noise : own;
    const struct expert_voices voices = expert_policies_voices(policies);
    status = noise ? release_with(s, &voices, noise, message) : ALGORITHM_NO_RANDOMNESS;
    if (status == ALGORITHM_CANCELLED)
        status = s->ended;
    noise_source_free(own);
    expert_policies_free(policies);
    if (status != ALGORITHM_OK)
        return status;
    s->kept = stage_state_to_bytes(s->released, stage_fingerprint(run), &s->kept_size);
    /* The release must be saved before anything is made of it. */
    return s->stage->keep(s->stage->context, 0, s->kept, s->kept_size) ? ALGORITHM_OK
                                                                       : ALGORITHM_PAUSED;
}

/* Reads the release from the checkpoint, whose first *OUT_USED bytes are not the trainer's. */
static enum algorithm_status take_released(struct stages *s, size_t *out_used, const char **message)
{
    const struct algorithm_run *run = s->stage->run;
    if (!stage_state_from_bytes(stage_fingerprint(run), run->checkpoint, run->checkpoint_size,
                                &s->released, out_used)) {
        *message = "the checkpoint is damaged or of another run";
        return ALGORITHM_BAD_CHECKPOINT;
    }
    s->kept = memory_copy(run->checkpoint, *out_used);
    s->kept_size = *out_used;
    return ALGORITHM_OK;
}

/* Shows how much was released. It follows from what is released, and so costs nothing. */
static void show_released(const struct stages *s)
{
    const struct algorithm_hooks *hooks = hooks_of(s);
    if (s->stage->run->request->stage.kind != STAGE_STABLE || !hooks->show_finding)
        return;
    hooks->show_finding(hooks->context, "released_prefixes", (double)s->released->trajectory_count);
    hooks->show_finding(hooks->context, "released_steps", (double)s->released->transition_count);
}

/* ---- the second stage */

static enum algorithm_pulse stage_pulse(void *context, uint64_t steps_done)
{
    const struct algorithm_hooks *hooks = hooks_of(context);
    return hooks->pulse(hooks->context, steps_done);
}

/* Saves the release, followed by the trainer's bytes. */
static bool stage_save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct stages *s = context;
    const struct algorithm_hooks *hooks = hooks_of(s);
    unsigned char *all = memory_bytes(s->kept_size + size);
    memcpy(all, s->kept, s->kept_size);
    memcpy(all + s->kept_size, bytes, size);
    bool saved = hooks->save(hooks->context, steps_done, all, s->kept_size + size);
    free(all);
    return saved;
}

static void stage_parallel(void *context, void (*work)(void *what, uint32_t i), void *what,
                           uint32_t count)
{
    const struct algorithm_hooks *hooks = hooks_of(context);
    hooks->parallel(hooks->context, work, what, count);
}

static enum algorithm_status second_stage(struct stages *s, size_t used, struct policy **out_policy,
                                          const char **message)
{
    const struct algorithm_run *run = s->stage->run;
    const struct algorithm_hooks *hooks = &run->hooks;
    struct algorithm_run training = *run;
    bool continued = run->checkpoint_size > used;
    training.stable = s->released;
    training.checkpoint = continued ? run->checkpoint + used : NULL;
    training.checkpoint_size = continued ? run->checkpoint_size - used : 0;
    training.hooks = (struct algorithm_hooks){.context = s,
                                              .pulse = hooks->pulse ? stage_pulse : NULL,
                                              .save = hooks->save ? stage_save : NULL,
                                              .parallel = hooks->parallel ? stage_parallel : NULL};
    if (run->request->stage.kind == STAGE_STABLE && run->request->stage.source == STABLE_LOGGED) {
        s->rest = stable_prefix_rest(run->data);
        if (!s->rest)
            return ALGORITHM_NO_MEMORY;
        training.data = s->rest;
    }
    return s->stage->algorithm->train(&training, out_policy, message);
}

enum algorithm_status stage_train(const struct stage_run *stage, struct policy **out_policy,
                                  const char **message)
{
    const struct algorithm_run *run = stage->run;
    if (run->request->stage.kind == STAGE_NONE)
        return stage->algorithm->train(run, out_policy, message);
    assert(run->plan->privacy.before.times > 0);
    struct stages s = {.stage = stage, .ended = ALGORITHM_OK};
    size_t used = 0;
    *message = "";
    enum algorithm_status status =
        run->checkpoint ? take_released(&s, &used, message) : first_stage(&s, message);
    if (status == ALGORITHM_OK)
        show_released(&s);
    if (status == ALGORITHM_OK)
        status = second_stage(&s, used, out_policy, message);
    dataset_free(s.released);
    dataset_free(s.rest);
    free(s.kept);
    return status;
}
