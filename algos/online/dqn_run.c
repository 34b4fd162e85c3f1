/* Training of dqn: the loop of the offline algorithms on a buffer, which is filled before it or by
 * play between its steps. */
#include <stdlib.h>

#include "algos/offline/cql.h"
#include "algos/online/dqn_buffer.h"
#include "algos/online/dqn_parameters.h"
#include "algos/privacy/noise/noise.h"

static const char bad_checkpoint[] = "the checkpoint is damaged or of another run";

/* Hooks that put a buffer before what the trainer saves. */
struct keeper {
    const struct algorithm_hooks *hooks;
    const struct dataset *data;      /* a fixed buffer of noised observations, or NULL and: */
    const struct dqn_replay *replay; /* one that grows */
};

static enum algorithm_pulse keeper_pulse(void *context, uint64_t steps_done)
{
    const struct keeper *keeper = context;
    return keeper->hooks->pulse ? keeper->hooks->pulse(keeper->hooks->context, steps_done)
                                : PULSE_CONTINUE;
}

static bool keeper_save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    const struct keeper *keeper = context;
    size_t all_size = 0;
    if (!keeper->hooks->save)
        return false;
    unsigned char *all = keeper->data ? dqn_buffer_keep(keeper->data, bytes, size, &all_size)
                                      : dqn_replay_keep(keeper->replay, bytes, size, &all_size);
    bool saved = keeper->hooks->save(keeper->hooks->context, steps_done, all, all_size);
    free(all);
    return saved;
}

static void keep_with(struct keeper *keeper, struct algorithm_run *training)
{
    training->hooks =
        (struct algorithm_hooks){.context = keeper, .pulse = keeper_pulse, .save = keeper_save};
}

/* Trains by TRAINING, which is RUN with its own data, hooks and checkpoint. FEED may be NULL. */
static enum algorithm_status train_on(const struct algorithm_run *run,
                                      struct algorithm_run *training,
                                      const struct trainer_feed *feed, struct policy **out_policy,
                                      const char **message)
{
    const struct algorithm_request inner = dqn_inner_request(run->request);
    struct offline_kind kind = dqn_kind;
    /* Without a conservative term, conservative Q-learning is deep Q-learning. */
    const struct cql_rule rule = {.loss = {.actions = inner.action_count,
                                           .huber = (float)algorithm_number(&inner, OFFLINE_HUBER)},
                                  .discount = (float)inner.discount};
    training->request = &inner;
    kind.feed = feed;
    enum algorithm_status status =
        offline_train(&kind, training, cql_errors, &rule, out_policy, message);
    if (status == ALGORITHM_OK && run->request->mechanism != MECHANISM_NONE)
        (*out_policy)->injected_noise = run->noise && noise_source_is_injected(run->noise);
    return status;
}

/* ---- observations that are noised */

/* Bounds of observations and their noise; all zero under other mechanisms. */
struct hiding {
    struct observation_bounds bounds;
    const struct observation_bounds *shown; /* NULL: observations are not noised */
    struct noise_source *noise;
};

static enum algorithm_status hiding_open(const struct algorithm_run *run, struct hiding *out,
                                         const char **message)
{
    const struct algorithm_request *request = run->request;
    *out = (struct hiding){.shown = NULL};
    if (request->mechanism != MECHANISM_LDP_OBSERVATIONS)
        return ALGORITHM_OK;
    if (!dqn_bounds_of(request, request->world->name, request->world->state_dim, &out->bounds)) {
        *message = "no bounds are declared for this world";
        return ALGORITHM_BAD_INPUT;
    }
    out->shown = &out->bounds;
    out->noise = run->noise ? run->noise : noise_source_new("observations");
    return out->noise ? ALGORITHM_OK : ALGORITHM_NO_RANDOMNESS;
}

static void hiding_close(const struct algorithm_run *run, struct hiding *hiding)
{
    if (hiding->noise != run->noise)
        noise_source_free(hiding->noise);
}

/* ---- a fixed buffer */

static struct dataset *fill_fixed(const struct algorithm_run *run, const struct hiding *hiding,
                                  bool *broke)
{
    const struct algorithm_request *request = run->request;
    bool user = algorithm_number(request, DQN_P_UNIT) > 0.0;
    struct dqn_buffer_request buffer = {
        .world = request->world,
        .physics = request->world_parameters,
        .unit = user ? DQN_USER : DQN_TRANSITION,
        .episodes = user,
        .size = (uint32_t)algorithm_number(request, DQN_P_BUFFER),
        .steps = dqn_step_limit(request, request->world),
        .seed = request->seed,
        .bounds = hiding->shown,
        .plan = &run->plan->privacy,
        .noise = hiding->noise,
    };
    if (request->mechanism != MECHANISM_DPSGD)
        buffer.unit = DQN_NOBODY;
    return dqn_buffer_fill(&buffer, broke);
}

static enum algorithm_status train_fixed(const struct algorithm_run *run,
                                         const struct hiding *hiding, struct policy **out_policy,
                                         const char **message)
{
    bool broke = false;
    struct algorithm_run training = *run;
    enum algorithm_status status = ALGORITHM_OK;
    struct dataset *data = fill_fixed(run, hiding, &broke);
    struct keeper keeper = {.hooks = &run->hooks, .data = data};
    if (!data) {
        *message = broke ? "the world broke" : "";
        return broke ? ALGORITHM_BAD_INPUT : ALGORITHM_NO_MEMORY;
    }
    training.data = data;
    if (hiding->shown) {
        keep_with(&keeper, &training);
        if (run->checkpoint &&
            !dqn_buffer_restore(data, run->checkpoint, run->checkpoint_size, &training.checkpoint,
                                &training.checkpoint_size)) {
            *message = bad_checkpoint;
            status = ALGORITHM_BAD_CHECKPOINT;
        }
    }
    if (status == ALGORITHM_OK)
        status = train_on(run, &training, NULL, out_policy, message);
    dataset_free(data);
    return status;
}

/* ---- play while it learns */

static enum algorithm_status train_playing(const struct algorithm_run *run,
                                           const struct hiding *hiding, struct policy **out_policy,
                                           const char **message)
{
    const struct algorithm_request *request = run->request;
    double updates = (double)run->plan->total_steps;
    const struct dqn_play_request asked = {
        .run = run,
        .shape = &run->plan->shape,
        .rounds = dqn_rounds_of(request),
        .final_exploration = algorithm_number(request, DQN_P_FINAL_EXPLORATION),
        .exploring_updates = updates * algorithm_number(request, DQN_P_EXPLORING_SHARE),
        .steps = dqn_step_limit(request, request->world),
        .bounds = hiding->shown,
        .noise = hiding->noise,
    };
    struct dqn_player player;
    struct algorithm_run training = *run;
    struct keeper keeper = {.hooks = &run->hooks, .replay = &player.replay};
    enum algorithm_status status = dqn_player_init(&player, &asked);
    if (status == ALGORITHM_OK && run->checkpoint &&
        !dqn_replay_restore(&player.replay, run->checkpoint, run->checkpoint_size,
                            &training.checkpoint, &training.checkpoint_size)) {
        *message = bad_checkpoint;
        status = ALGORITHM_BAD_CHECKPOINT;
    }
    if (status == ALGORITHM_OK) {
        training.data = &player.replay.data;
        keep_with(&keeper, &training);
        status = train_on(run, &training, &player.feed, out_policy, message);
    }
    dqn_player_clear(&player);
    return status;
}

enum algorithm_status dqn_train(const struct algorithm_run *run, struct policy **out_policy,
                                const char **message)
{
    struct hiding hiding;
    *message = "";
    enum algorithm_status status = hiding_open(run, &hiding, message);
    if (status == ALGORITHM_OK)
        status = dqn_plays_greedy(run->request) ? train_playing(run, &hiding, out_policy, message)
                                                : train_fixed(run, &hiding, out_policy, message);
    hiding_close(run, &hiding);
    return status;
}
