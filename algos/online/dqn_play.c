/* The next user's episode, and when it is due.
 *
 * User n draws from stream 1 + n of the public seed. What a continued run needs besides is in the
 * buffer of its checkpoint. */
#include "algos/online/dqn_play.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

uint64_t dqn_rounds_users(const struct dqn_rounds *rounds, uint64_t update)
{
    return rounds->random_users + rounds->round_users * (update / rounds->round_updates);
}

uint64_t dqn_rounds_uses(const struct dqn_rounds *rounds, uint64_t updates)
{
    uint64_t kept = rounds->kept_users, each = rounds->round_users;
    uint64_t most = (kept + each - 1) / each * rounds->round_updates;
    return most < updates ? most : updates;
}

double dqn_exploration(double final, double updates, uint64_t update)
{
    double part = updates > 0.0 ? fmin(1.0, (double)update / updates) : 1.0;
    return 1.0 + part * (final - 1.0);
}

static void player_see(struct dqn_player *player, uint32_t t, const double *observation)
{
    const struct dqn_play_request *request = player->request;
    uint32_t dim = request->shape->input;
    float *row = player->states + (size_t)t * dim;
    for (uint32_t i = 0; i < dim; i++)
        row[i] = (float)observation[i];
    if (request->bounds)
        observation_hide(request->bounds, &request->run->plan->privacy, request->noise, row);
}

/* The best action at row T by WEIGHTS. Where outputs are not finite it is some action: a private
 * run goes on, because its end would tell of this episode. */
static uint32_t best_action(struct dqn_player *player, const float *weights, uint32_t t)
{
    const struct mlp_shape *shape = player->request->shape;
    float values[ENV_MAX_ACTIONS];
    mlp_forward_one(shape, weights, player->states + (size_t)t * shape->input, values,
                    player->scratch);
    return policy_best_action(values, shape->width[shape->layer_count - 1]);
}

/* Plays EPISODE with a share EXPLORES of random actions. False: the world broke. */
static bool play_episode(struct dqn_player *player, const float *weights, double explores,
                         struct trajectory *episode)
{
    const struct algorithm_request *asked = player->request->run->request;
    const struct env *world = asked->world;
    double observation[ENV_MAX_STATE_DIM];
    struct rng rng;
    rng_seed(&rng, asked->seed, 1 + player->replay.users);
    *episode = (struct trajectory){
        .states = player->states, .actions = player->actions, .rewards = player->rewards};
    if (!world->reset(player->state, asked->world_parameters, &rng, observation))
        return false;
    player_see(player, 0, observation);
    while (episode->length < player->request->steps && !episode->terminated) {
        uint32_t t = episode->length++, action;
        if (rng_uniform(&rng) < explores)
            action = rng_below(&rng, world->action_count);
        else
            action = best_action(player, weights, t);
        struct env_outcome outcome =
            world->step(player->state, asked->world_parameters, action, &rng, observation);
        if (outcome.failed)
            return false;
        player->actions[t] = (uint16_t)action;
        player->rewards[t] = (float)outcome.reward;
        episode->terminated = outcome.terminated;
        player_see(player, t + 1, observation);
    }
    return true;
}

static bool player_is_due(void *context, uint64_t steps_done)
{
    const struct dqn_player *player = context;
    return player->replay.users < dqn_rounds_users(&player->request->rounds, steps_done);
}

static enum algorithm_status player_add(void *context, uint64_t steps_done, const float *weights,
                                        const char **message)
{
    struct dqn_player *player = context;
    const struct dqn_play_request *request = player->request;
    struct trajectory episode;
    double explores =
        dqn_exploration(request->final_exploration, request->exploring_updates, steps_done);
    if (!play_episode(player, weights, explores, &episode)) {
        *message = "the world broke";
        return ALGORITHM_BAD_INPUT;
    }
    dqn_replay_add(&player->replay, &episode);
    return ALGORITHM_OK;
}

enum algorithm_status dqn_player_init(struct dqn_player *out,
                                      const struct dqn_play_request *request)
{
    const struct algorithm_run *run = request->run;
    const struct dqn_rounds *rounds = &request->rounds;
    const struct dqn_replay_size size = {.state_dim = request->shape->input,
                                         .action_count = run->request->world->action_count,
                                         .capacity = rounds->kept_users,
                                         .steps = request->steps,
                                         .one_slot = run->request->mechanism != MECHANISM_DPSGD};
    assert(rounds->random_users > 0 && rounds->round_users > 0 && rounds->round_updates > 0);
    assert(rounds->random_users <= rounds->kept_users && rounds->round_users <= rounds->kept_users);
    *out = (struct dqn_player){.request = request};
    out->state = env_open(run->request->world);
    if (!out->state || !memory_fits(2 * dqn_replay_bytes(&size))) /* and a checkpoint of it */
        return ALGORITHM_NO_MEMORY;
    dqn_replay_init(&out->replay, &size);
    out->states = memory_new(((size_t)request->steps + 1) * size.state_dim, sizeof *out->states);
    out->rewards = memory_new(request->steps, sizeof *out->rewards);
    out->actions = memory_new(request->steps, sizeof *out->actions);
    out->scratch = memory_new(mlp_scratch_count(request->shape), sizeof *out->scratch);
    out->feed = (struct trainer_feed){.context = out,
                                      .uses = dqn_rounds_uses(rounds, run->plan->total_steps),
                                      .is_due = player_is_due,
                                      .add = player_add};
    return ALGORITHM_OK;
}

void dqn_player_clear(struct dqn_player *player)
{
    dqn_replay_clear(&player->replay);
    if (player->state)
        env_close(player->request->run->request->world, player->state);
    free(player->states);
    free(player->rewards);
    free(player->actions);
    free(player->scratch);
    *player = (struct dqn_player){0};
}
