/* Draw, roll out, count, stop.
 *
 * DESIGN. The drawn trajectory grows in blocks of STEPS_AT_ONCE; after each the experts are asked
 * at the block's states, range by range, each expert's product goes on from where it was, and the
 * sparse vector is asked of the block's counts. The law is that of a whole trajectory drawn first:
 * what was not looked at does not matter. Memory is one product per expert and one range of
 * probabilities, whatever the length.
 *
 * Arithmetic. Policies are whole numbers of 2^-30 (expert_voices.h): actions are drawn from these
 * weights exactly, and products are made of them. A product is lowered by 2^-52 of itself at every
 * step, which is more than rounding can have raised it: (1 + 2^-53)^2 (1 - 2^-52) < 1. So a count
 * is never above the true one, and a true count below theta is one that the threshold treats so. A
 * product below one unit of the counts, 2^-32, counts as nothing for ever. */
#include "algos/offline/stable_prefix.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/steady_episode.h"
#include "algos/privacy/noise/noise.h"
#include "memory/memory.h"

#define STEPS_AT_ONCE   16
#define EXPERTS_AT_ONCE 64
#define LOWERED         (1.0 - 0x1p-52)

bool stable_prefix_uses(uint64_t number)
{
    return number % 2 == 0;
}

/* The trajectory of one run as far as it is known. */
struct walk {
    float *states; /* (max_length + 1) x state_dim */
    uint16_t *actions;
    float *rewards;
    uint32_t expert, length;
    bool over, terminated;
};

struct release {
    const struct stable_prefix_run *run;
    uint32_t *voices; /* numbers of those who take part in this run */
    uint32_t voice_count;
    uint64_t *logged; /* slot: first row of its trajectory for this run; NULL: STABLE_ROLLOUTS */
    double *product;  /* slot */
    double *probabilities;
    uint32_t *weights;
    int64_t counts[STEPS_AT_ONCE];
    struct walk walk;
    struct steady_episode play; /* STABLE_ROLLOUTS */
    struct dataset_builder *released;
};

static size_t state_dim(const struct release *r)
{
    return r->run->voices->state_dim;
}

/* ---- a trajectory of the drawn expert's policy */

static float *walk_state(struct release *r, uint32_t steps)
{
    return r->walk.states + steps * state_dim(r);
}

/* The world's own coins may be public; the expert and its actions are drawn from the noise. */
static bool begin_rollout(struct release *r)
{
    return steady_episode_start(&r->play, noise_u64(r->run->noise), 0, walk_state(r, 0));
}

static uint32_t draw_expert_action(struct release *r, const float *state)
{
    const struct expert_voices *voices = r->run->voices;
    uint64_t wide[ENV_MAX_ACTIONS];
    voices->probabilities(voices->context, r->walk.expert, 1, state, 1, r->probabilities);
    expert_voices_weights(r->probabilities, voices->action_count, voices->min_probability,
                          VOICE_UNIT, r->weights);
    for (uint32_t a = 0; a < voices->action_count; a++)
        wide[a] = r->weights[a];
    if (r->walk.over) /* the step is dropped, so its action need not be drawn */
        return 0;
    return noise_categorical(r->run->noise, wide, voices->action_count);
}

/* Plays the steps FROM .. TO - 1; those behind the walk's end are dropped. A step that the world
 * cannot take ends the walk before that step. An error would let the job's end reveal actions that
 * are not released. */
static void extend_rollout(struct release *r, uint32_t from, uint32_t to)
{
    struct walk *walk = &r->walk;
    for (uint32_t t = from; t < to; t++) {
        uint32_t action = draw_expert_action(r, walk_state(r, t));
        struct steady_step step = steady_episode_step(&r->play, action, walk_state(r, t + 1));
        float reward = (float)step.reward;
        walk->actions[t] = (uint16_t)action;
        if (walk->over)
            continue;
        walk->over = !step.made || !step.finite || !isfinite(reward);
        if (walk->over)
            continue;
        walk->rewards[walk->length++] = reward;
        walk->terminated = walk->over = step.terminated;
    }
}

/* ---- or one that was uploaded */

static uint64_t *first_logged(const struct dataset *data)
{
    uint64_t *rows = memory_new(data->expert_count, sizeof *rows);
    memcpy(rows, data->expert_transitions, data->expert_count * sizeof *rows);
    return rows;
}

/* Moves ROW of EXPERT from the start of one trajectory to the start of the next but one, or to the
 * expert's end. */
static uint64_t next_logged(const struct dataset *data, uint32_t expert, uint64_t row)
{
    uint64_t end = data->expert_transitions[expert + 1];
    for (int starts = 0; row < end && starts < 2;)
        starts += ++row < end && dataset_starts_trajectory(data, row);
    return row;
}

/* Copies the trajectory that is the drawn expert's in this run. */
static void take_logged(struct release *r)
{
    const struct dataset *data = r->run->logged;
    struct walk *walk = &r->walk;
    uint64_t begin = r->logged[walk->expert], at = begin;
    uint64_t end = data->expert_transitions[walk->expert + 1];
    uint32_t most = r->run->plan->request.max_length;
    size_t dim = state_dim(r);
    for (; at < end && walk->length < most && (at == begin || !dataset_starts_trajectory(data, at));
         at++) {
        walk->actions[walk->length] = data->actions[at];
        walk->rewards[walk->length++] = data->rewards[at];
        walk->terminated = data->terminated[at];
    }
    memcpy(walk->states, data->states + data->state_row[begin] * dim,
           (walk->length + 1) * dim * sizeof *walk->states);
}

/* ---- who takes part */

static bool takes_part(const struct release *r, uint32_t expert)
{
    const struct stable_prefix_run *run = r->run;
    if (!run->voices->present(run->voices->context, expert))
        return false;
    return run->source == STABLE_ROLLOUTS ||
           r->logged[expert] < run->logged->expert_transitions[expert + 1];
}

/* Lists the experts who are drawn and counted in a run. Of logged trajectories, those who have one
 * for this run: whoever is counted must be one who could have been drawn. */
static void list_voices(struct release *r)
{
    r->voice_count = 0;
    for (uint32_t e = 0; e < r->run->voices->slots; e++) {
        r->product[e] = takes_part(r, e) ? 1.0 : 0.0;
        if (r->product[e] > 0)
            r->voices[r->voice_count++] = e;
    }
}

/* Each run has trajectories of its own, whoever was drawn before. */
static void move_on(struct release *r)
{
    for (uint32_t e = 0; r->logged && e < r->run->voices->slots; e++)
        r->logged[e] = next_logged(r->run->logged, e, r->logged[e]);
}

/* ---- counts */

/* Counts the experts for the prefixes of FROM + 1 .. FROM + STEPS steps. */
static void count_block(struct release *r, uint32_t from, uint32_t steps)
{
    const struct expert_voices *voices = r->run->voices;
    uint32_t actions = voices->action_count;
    const float *states = r->walk.states + from * state_dim(r);
    memset(r->counts, 0, sizeof r->counts);
    for (uint32_t first = 0; first < voices->slots; first += EXPERTS_AT_ONCE) {
        uint32_t left = voices->slots - first;
        uint32_t count = left < EXPERTS_AT_ONCE ? left : EXPERTS_AT_ONCE;
        voices->probabilities(voices->context, first, count, states, steps, r->probabilities);
        for (uint32_t e = 0; e < count; e++) {
            double product = r->product[first + e];
            for (uint32_t t = 0; t < steps; t++) {
                size_t row = ((size_t)e * steps + t) * actions;
                expert_voices_weights(r->probabilities + row, actions, voices->min_probability,
                                      VOICE_UNIT, r->weights);
                double p = (double)r->weights[r->walk.actions[from + t]] / VOICE_UNIT;
                product *= p;
                product *= LOWERED;
                if (product < 0x1p-33)
                    product = 0.0;
                r->counts[t] += (int64_t)sparse_vector_units(product);
            }
            r->product[first + e] = product;
        }
    }
}

static bool release_goes_on(const struct release *r)
{
    return !r->run->goes_on || r->run->goes_on(r->run->context);
}

/* Asks the sparse vector about the prefixes of a block that ends at TO, as far as the walk goes. */
static uint32_t ask_block(struct release *r, struct sparse_vector_run *vector, uint32_t stable,
                          uint32_t to)
{
    const uint32_t from = stable;
    while (stable < to && stable < r->walk.length && !vector->stopped)
        stable += sparse_vector_query(vector, r->counts[stable - from]);
    return stable;
}

/* Finds the number of steps to release. Blocks are played and counted whole, also behind the walk's
 * end, and their number follows from what is released: stable / STEPS_AT_ONCE + 1 of them, or one
 * less where the walk is released to the world's own end or to its full length. */
static enum algorithm_status stable_length(struct release *r, uint32_t *out)
{
    const struct stable_prefix_run *run = r->run;
    const uint32_t most = run->plan->request.max_length;
    struct sparse_vector_run vector;
    enum algorithm_status status = ALGORITHM_OK;
    uint32_t stable = 0, to = 0;
    sparse_vector_begin(&vector, &run->plan->lattice, run->noise);
    while (stable == to && stable < most && !(r->walk.terminated && stable == r->walk.length)) {
        to = most - stable < STEPS_AT_ONCE ? most : stable + STEPS_AT_ONCE;
        if (!release_goes_on(r)) {
            status = ALGORITHM_CANCELLED;
            break;
        }
        if (run->source == STABLE_ROLLOUTS)
            extend_rollout(r, stable, to);
        count_block(r, stable, to - stable);
        stable = ask_block(r, &vector, stable, to);
    }
    explicit_bzero(&vector, sizeof vector);
    *out = stable;
    return status;
}

/* ---- all runs */

/* Draws an expert and what is played or was uploaded. The walk of nobody is empty. False: the world
 * has no start. */
static bool begin_walk(struct release *r)
{
    r->walk.length = 0;
    r->walk.over = r->walk.terminated = false;
    list_voices(r);
    if (r->voice_count == 0)
        return true;
    r->walk.expert = r->voices[noise_below(r->run->noise, r->voice_count)];
    if (r->run->source == STABLE_ROLLOUTS)
        return begin_rollout(r);
    take_logged(r);
    return true;
}

static enum algorithm_status one_run(struct release *r, uint32_t slot)
{
    uint32_t stable = 0;
    if (!begin_walk(r))
        return ALGORITHM_BAD_INPUT;
    enum algorithm_status status = stable_length(r, &stable);
    if (status != ALGORITHM_OK || stable == 0)
        return status;
    bool whole = stable == r->walk.length && r->walk.terminated;
    const struct trajectory prefix = {.expert = slot,
                                      .length = stable,
                                      .terminated = whole,
                                      .truncated = !whole,
                                      .states = r->walk.states,
                                      .actions = r->walk.actions,
                                      .rewards = r->walk.rewards};
    (void)dataset_builder_add(r->released, &prefix);
    return ALGORITHM_OK;
}

static void release_init(struct release *r)
{
    const struct stable_prefix_run *run = r->run;
    const struct expert_voices *voices = run->voices;
    size_t steps = run->plan->request.max_length, actions = voices->action_count;
    r->voices = memory_new(voices->slots, sizeof *r->voices);
    r->product = memory_new(voices->slots, sizeof *r->product);
    r->probabilities =
        memory_new(EXPERTS_AT_ONCE * STEPS_AT_ONCE * actions, sizeof *r->probabilities);
    r->weights = memory_new(actions, sizeof *r->weights);
    r->walk.states = memory_new((steps + 1) * voices->state_dim, sizeof *r->walk.states);
    r->walk.actions = memory_new(steps, sizeof *r->walk.actions);
    r->walk.rewards = memory_new(steps, sizeof *r->walk.rewards);
    r->released = dataset_builder_new(voices->state_dim, voices->action_count,
                                      run->plan->request.trajectories);
    if (run->source == STABLE_ROLLOUTS)
        steady_episode_open(&r->play, run->env);
    else
        r->logged = first_logged(run->logged);
    list_voices(r);
}

static void release_clear(struct release *r)
{
    free(r->voices);
    free(r->logged);
    free(r->product);
    free(r->probabilities);
    free(r->weights);
    free(r->walk.states);
    free(r->walk.actions);
    free(r->walk.rewards);
    dataset_builder_free(r->released);
    if (r->run->source == STABLE_ROLLOUTS)
        steady_episode_close(&r->play);
}

static const char *prefix_problem(const struct stable_prefix_run *run)
{
    const struct expert_voices *voices = run->voices;
    if (run->source == STABLE_ROLLOUTS && (!run->env || run->env->state_dim != voices->state_dim ||
                                           run->env->action_count != voices->action_count))
        return "the world's sizes are not those of the experts' policies";
    if (run->source == STABLE_LOGGED &&
        (!run->logged || run->logged->state_dim != voices->state_dim ||
         run->logged->expert_count != voices->slots))
        return "the logged trajectories are not of these experts";
    return NULL;
}

enum algorithm_status stable_prefix_release(const struct stable_prefix_run *run,
                                            struct dataset **out_released, const char **message)
{
    assert(expert_voices_floor(run->voices->min_probability) >= run->plan->request.min_probability);
    struct release r = {.run = run};
    *message = prefix_problem(run);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    enum algorithm_status status = ALGORITHM_OK;
    release_init(&r);
    /* Without a single voice nobody plays: an empty dataset is no error. */
    bool plays = r.voice_count > 0 || run->source == STABLE_LOGGED;
    for (uint32_t i = 0; status == ALGORITHM_OK && plays && i < run->plan->request.trajectories;
         i++) {
        status = one_run(&r, i);
        move_on(&r);
    }
    if (status == ALGORITHM_BAD_INPUT)
        *message = "the world gave no state to start from";
    if (status == ALGORITHM_OK) {
        *out_released = dataset_builder_finish(r.released);
        r.released = NULL;
        status = *out_released ? ALGORITHM_OK : ALGORITHM_NO_MEMORY;
    }
    release_clear(&r);
    return status;
}

struct rest {
    struct dataset_builder *builder;
    uint32_t expert;
    uint64_t number;
};

static bool keep_rest(void *context, const struct trajectory *one)
{
    struct rest *rest = context;
    rest->number = one->expert == rest->expert ? rest->number + 1 : 0;
    rest->expert = one->expert;
    if (!stable_prefix_uses(rest->number))
        (void)dataset_builder_add(rest->builder, one);
    return true;
}

struct dataset *stable_prefix_rest(const struct dataset *data)
{
    struct rest rest = {.expert = UINT32_MAX};
    rest.builder = dataset_builder_beside(data);
    (void)dataset_each_trajectory(data, keep_rest, &rest);
    return dataset_builder_finish(rest.builder);
}
