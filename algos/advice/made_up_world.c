/* The made-up world, and its experts. */
#include "algos/advice/made_up_world.h"

#include <math.h>
#include <stdlib.h>

#include "algos/offline/offline.h"
#include "memory/memory.h"

#define KEEPS  0.7 /* of a coordinate in a step */
#define PUSHES 0.1
#define SHAKES 0.35
#define SEEN   2.0 /* what scaled inputs reach */

/* Streams of a seed. */
enum { STREAM_WORLD, STREAM_EXPERTS };

/* What a step needs of the world; the caller of the environment holds it. */
struct made_up_state {
    const struct made_up_world *world;
    double z[ENV_MAX_STATE_DIM];
};

/* ---- the right action */

static double world_dot(const double *weights, const double *z, unsigned dim)
{
    double sum = 0;
    for (unsigned d = 0; d < dim; d++)
        sum += weights[d] * z[d];
    return sum;
}

static unsigned world_right(const struct made_up_world *world, const double *z)
{
    const unsigned dim = world->env.state_dim;
    double unit[MADE_UP_UNITS], best = -INFINITY;
    unsigned right = 0;
    for (unsigned u = 0; u < MADE_UP_UNITS; u++)
        unit[u] = tanh(world_dot(world->layer[u], z, dim));
    for (unsigned a = 0; a < world->env.action_count; a++) {
        double score =
            world_dot(world->linear[a], z, dim) + world_dot(world->bent[a], unit, MADE_UP_UNITS);
        if (score > best) {
            best = score;
            right = a;
        }
    }
    return right;
}

unsigned made_up_world_target(const struct made_up_world *world, const double *observation)
{
    double z[ENV_MAX_STATE_DIM];
    for (unsigned d = 0; d < world->env.state_dim; d++)
        z[d] = (observation[d] - world->middle[d]) / world->half[d];
    return world_right(world, z);
}

/* ---- as an environment */

static bool world_open(const struct env *env, void *state)
{
    struct made_up_state *s = state;
    s->world = (const struct made_up_world *)env; /* its first member */
    return true;
}

static void world_close(void *state)
{
    (void)state;
}

static void world_show(const struct made_up_state *s, double *observation)
{
    for (unsigned d = 0; d < s->world->env.state_dim; d++)
        observation[d] = s->world->middle[d] + s->world->half[d] * s->z[d];
}

static bool world_reset(void *state, const double *parameters, struct rng *rng, double *observation)
{
    struct made_up_state *s = state;
    (void)parameters;
    for (unsigned d = 0; d < s->world->env.state_dim; d++)
        s->z[d] = rng_between(rng, -1, 1);
    world_show(s, observation);
    return true;
}

static struct env_outcome world_step(void *state, const double *parameters, unsigned action,
                                     struct rng *rng, double *observation)
{
    struct made_up_state *s = state;
    (void)parameters;
    struct env_outcome outcome = {.reward = action == world_right(s->world, s->z)};
    for (unsigned d = 0; d < s->world->env.state_dim; d++) {
        double to = KEEPS * s->z[d] + PUSHES * s->world->push[action][d] + SHAKES * rng_normal(rng);
        s->z[d] = fmin(1, fmax(-1, to));
    }
    world_show(s, observation);
    return outcome;
}

/* ---- making it */

static void world_place(struct made_up_world *world, const struct algorithm_request *request)
{
    const struct features *features = request->features;
    const struct consensus_grid *grid = &request->stage.grid;
    const struct parameter_value *scale = &request->parameters.value[OFFLINE_INPUT_SCALE];
    const struct parameter_value *center = &request->parameters.value[OFFLINE_INPUT_CENTER];
    for (uint32_t d = 0; d < request->state_dim; d++) {
        struct feature_range range = {0, 0};
        if (features)
            range = features->range[d];
        else if (d < grid->dims && grid->count == 0)
            range = (struct feature_range){grid->low[d], grid->high[d]};
        if (range.low < range.high) {
            world->middle[d] = feature_center(&range);
            world->half[d] = (range.high - range.low) / 2;
        } else {
            world->middle[d] = center->number[center->count > 1 ? d : 0];
            world->half[d] = SEEN / scale->number[scale->count > 1 ? d : 0];
        }
    }
}

static void world_fill(double *weights, unsigned count, double deviation, struct rng *rng)
{
    for (unsigned i = 0; i < count; i++)
        weights[i] = deviation * rng_normal(rng);
}

void made_up_world_init(struct made_up_world *world, const struct algorithm_request *request,
                        uint64_t seed)
{
    const unsigned dim = request->state_dim, actions = request->action_count;
    struct rng rng;
    *world = (struct made_up_world){.env = {.name = "made up",
                                            .state_dim = dim,
                                            .action_count = actions,
                                            .max_episode_steps = 100,
                                            .random_return = 100.0 / actions,
                                            .state_size = sizeof(struct made_up_state),
                                            .open = world_open,
                                            .close = world_close,
                                            .reset = world_reset,
                                            .step = world_step}};
    world_place(world, request);
    rng_seed(&rng, seed, STREAM_WORLD);
    for (unsigned u = 0; u < MADE_UP_UNITS; u++)
        world_fill(world->layer[u], dim, 4 / sqrt(dim), &rng);
    for (unsigned a = 0; a < actions; a++) {
        world_fill(world->push[a], dim, 1, &rng);
        world_fill(world->linear[a], dim, 2 / sqrt(dim), &rng);
        world_fill(world->bent[a], MADE_UP_UNITS, 0.5, &rng);
    }
}

/* ---- experts */

struct writing {
    const struct made_up_world *world;
    const struct made_up_size *size;
    double floor, skill; /* of the expert who plays */
    float *states, *rewards;
    uint16_t *actions;
};

static unsigned expert_act(const struct writing *w, unsigned right, struct rng *rng)
{
    const unsigned actions = w->world->env.action_count;
    bool free = rng_uniform(rng) < actions * w->floor; /* mixed to the floor */
    if (!free && rng_uniform(rng) < w->skill)
        return right;
    return rng_below(rng, actions);
}

/* Plays one trajectory; returns what it earned. */
static double made_up_play(const struct writing *w, struct made_up_state *state, struct rng *rng)
{
    const unsigned dim = w->world->env.state_dim;
    double observation[ENV_MAX_STATE_DIM], sum = 0;
    state->world = w->world;
    (void)world_reset(state, NULL, rng, observation);
    for (uint32_t t = 0;; t++) {
        for (unsigned d = 0; d < dim; d++)
            w->states[(size_t)t * dim + d] = (float)observation[d];
        if (t == w->size->steps)
            return sum;
        unsigned action = expert_act(w, world_right(w->world, state->z), rng);
        double reward = world_step(state, NULL, action, rng, observation).reward;
        w->actions[t] = (uint16_t)action;
        w->rewards[t] = (float)reward;
        sum += reward;
    }
}

/* Gives the mean return. */
static double experts_write(struct writing *w, uint64_t seed, struct dataset_builder *builder)
{
    const struct made_up_size *size = w->size;
    double sum = 0;
    for (uint32_t e = 0; e < size->experts; e++) {
        struct made_up_state state;
        struct rng rng;
        double place = (e + 0.5) / size->experts;
        w->skill = MADE_UP_SKILL_LOW + place * (MADE_UP_SKILL_HIGH - MADE_UP_SKILL_LOW);
        rng_seed(&rng, seed, STREAM_EXPERTS + (uint64_t)e);
        for (uint32_t i = 0; i < size->trajectories; i++) {
            sum += made_up_play(w, &state, &rng);
            const struct trajectory one = {.expert = e,
                                           .length = size->steps,
                                           .truncated = true,
                                           .states = w->states,
                                           .actions = w->actions,
                                           .rewards = w->rewards};
            (void)dataset_builder_add(builder, &one);
        }
    }
    return sum / ((double)size->experts * size->trajectories);
}

struct dataset *made_up_experts(const struct made_up_world *world, const struct made_up_size *size,
                                double min_action_probability, uint64_t seed, double *out_mean)
{
    const unsigned dim = world->env.state_dim;
    struct dataset_builder *builder =
        dataset_builder_new(dim, world->env.action_count, size->experts);
    struct writing w = {.world = world,
                        .size = size,
                        .floor = min_action_probability,
                        .states = memory_new((size_t)(size->steps + 1) * dim, sizeof(float)),
                        .rewards = memory_new(size->steps, sizeof(float)),
                        .actions = memory_new(size->steps, sizeof(uint16_t))};
    *out_mean = experts_write(&w, seed, builder);
    free(w.states);
    free(w.rewards);
    free(w.actions);
    return memory_must(dataset_builder_finish(builder));
}
