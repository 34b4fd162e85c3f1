/* Worlds stepped together against the same worlds stepped one by one: bit for bit. */
#include "envs/env_batch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { STEPS = 300, LIMIT = 60 };

/* Instance I's own physics: the defaults, of every third a little changed. */
static void physics(const struct env *env, uint32_t i, double *parameters)
{
    env_defaults(env, parameters);
    if (i % 3 == 2 && env->parameter_count > 0)
        parameters[0] *= 1.0 + 1e-3 * i;
}

/* The action of instance I at step T: of its number and T alone. */
static uint32_t action_of(const struct env *env, uint32_t i, uint32_t t)
{
    struct rng rng;
    rng_seed(&rng, i, t);
    return rng_below(&rng, env->action_count);
}

/* Some begin their next episode at once, some sleep a while: of the step's number alone. */
static bool wakes(uint32_t i, uint32_t t)
{
    return i % 2 == 0 || t % 5 == 0;
}

/* Instance I by itself, beside what the batch shows in place AT of it. */
struct single {
    double parameters[ENV_MAX_PARAMETERS];
    double seen[ENV_MAX_STATE_DIM];
    struct rng rng;
    void *state;
    double reward, total;
    uint32_t steps;
    enum env_end ended;
};

static void single_reset(const struct env *env, struct single *s)
{
    cr_assert(env->reset(s->state, s->parameters, &s->rng, s->seen));
    s->reward = s->total = 0.0;
    s->steps = 0;
    s->ended = ENV_RUNNING;
}

static void single_step(const struct env *env, struct single *s, uint32_t action)
{
    if (s->ended != ENV_RUNNING)
        return;
    struct env_outcome outcome = env->step(s->state, s->parameters, action, &s->rng, s->seen);
    cr_assert_not(outcome.failed);
    s->reward = outcome.reward;
    s->total += outcome.reward;
    s->steps++;
    s->ended = outcome.terminated  ? ENV_TERMINATED
               : s->steps >= LIMIT ? ENV_TRUNCATED
                                   : ENV_RUNNING;
}

static void assert_same(const struct env_batch *batch, const struct single *s, uint32_t i)
{
    for (unsigned k = 0; k < batch->env->state_dim; k++) {
        float shown = batch->observations[i * batch->env->state_dim + k];
        cr_assert_eq(shown, (float)s->seen[k], "%s %u of %u, number %u", batch->env->name, i,
                     batch->count, k);
    }
    cr_assert_eq(batch->rewards[i], s->reward);
    cr_assert_eq(batch->returns[i], s->total);
    cr_assert_eq(batch->steps[i], s->steps);
    cr_assert_eq(batch->ended[i], s->ended, "%s %u of %u", batch->env->name, i, batch->count);
}

/* Returns how many episodes ended. */
static uint32_t compare(const struct env *env, uint32_t count, uint32_t steps)
{
    struct single singles[40];
    uint32_t actions[40], ends = 0;
    cr_assert_leq(count, 40);
    struct env_batch *batch = env_batch_new(env, count, LIMIT);
    cr_assert_not_null(batch);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(batch->ended[i], ENV_UNSTARTED);
        singles[i] = (struct single){.state = env_open(env)};
        cr_assert_not_null(singles[i].state);
        physics(env, i, singles[i].parameters);
        env_batch_physics(batch, i, singles[i].parameters);
        rng_seed(&singles[i].rng, 9, i);
        batch->generators[i] = singles[i].rng;
        single_reset(env, &singles[i]);
    }
    cr_assert(env_batch_restart(batch));
    for (uint32_t t = 0; t < steps; t++) {
        for (uint32_t i = 0; i < count; i++) {
            bool awake = batch->ended[i] == ENV_RUNNING;
            actions[i] = awake ? action_of(env, i, t) : UINT32_MAX;
            single_step(env, &singles[i], actions[i]);
        }
        cr_assert(env_batch_step(batch, actions));
        for (uint32_t i = 0; i < count; i++) {
            assert_same(batch, &singles[i], i);
            if (singles[i].ended != ENV_RUNNING && wakes(i, t)) {
                ends++;
                single_reset(env, &singles[i]);
                cr_assert(env_batch_reset(batch, i));
                assert_same(batch, &singles[i], i);
            }
        }
    }
    for (uint32_t i = 0; i < count; i++)
        env_close(env, singles[i].state);
    env_batch_free(batch);
    return ends;
}

Test(env_batch, every_world_in_every_size_steps_as_by_itself)
{
    const uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 13, 37};
    unsigned count;
    const struct env *const *all = env_all(&count);
    for (unsigned w = 0; w < count; w++) {
        bool slow = all[w]->step_work > 0;
        uint32_t ends = 0;
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            ends += compare(all[w], sizes[s], slow ? LIMIT + 10 : STEPS);
        cr_assert_gt(ends, 50, "%s", all[w]->name);
    }
}

/* Instances FIRST .. FIRST + COUNT - 1 of a population, played for a while by a thread. */
struct part {
    const struct env *env;
    uint32_t first, count, steps;
    double returns[12];
    float observations[12 * ENV_MAX_STATE_DIM];
    bool played;
};

static void *play_part(void *argument)
{
    struct part *part = argument;
    struct env_batch *batch = env_batch_new(part->env, part->count, LIMIT);
    if (!batch)
        return NULL;
    double parameters[ENV_MAX_PARAMETERS];
    uint32_t actions[12];
    for (uint32_t i = 0; i < part->count; i++) {
        physics(part->env, part->first + i, parameters);
        env_batch_physics(batch, i, parameters);
        rng_seed(&batch->generators[i], 5, part->first + i);
    }
    part->played = true;
    for (uint32_t t = 0; t < part->steps && part->played; t++) {
        for (uint32_t i = 0; i < part->count; i++)
            actions[i] = action_of(part->env, part->first + i, t);
        part->played = env_batch_restart(batch) && env_batch_step(batch, actions);
        for (uint32_t i = 0; i < part->count; i++)
            part->returns[i] += batch->ended[i] != ENV_RUNNING ? batch->returns[i] : 0.0;
    }
    memcpy(part->observations, batch->observations,
           part->count * part->env->state_dim * sizeof(float));
    env_batch_free(batch);
    return NULL;
}

Test(env_batch, instances_shared_out_to_threads_have_the_history_they_have_together)
{
    enum { COUNT = 12, THREADS = 4, EACH = COUNT / THREADS };
    unsigned count;
    const struct env *const *all = env_all(&count);
    for (unsigned w = 0; w < count; w++) {
        const struct env *env = all[w];
        uint32_t steps = env->step_work > 0 ? LIMIT + 10 : STEPS;
        struct part whole = {.env = env, .count = COUNT, .steps = steps}, parts[THREADS];
        pthread_t threads[THREADS];
        play_part(&whole);
        cr_assert(whole.played);
        for (uint32_t p = 0; p < THREADS; p++) {
            parts[p] = (struct part){.env = env, .first = p * EACH, .count = EACH, .steps = steps};
            cr_assert_eq(pthread_create(&threads[p], NULL, play_part, &parts[p]), 0);
        }
        for (uint32_t p = 0; p < THREADS; p++) {
            pthread_join(threads[p], NULL);
            size_t row = EACH * env->state_dim;
            cr_assert(parts[p].played);
            cr_assert_arr_eq(parts[p].returns, whole.returns + p * EACH, EACH * sizeof(double));
            cr_assert_arr_eq(parts[p].observations, whole.observations + p * row,
                             row * sizeof(float), "%s", env->name);
        }
    }
}

Test(env_batch, a_restart_begins_what_has_ended_and_nothing_else)
{
    const struct env *env = env_find("cartpole");
    enum { COUNT = 21 };
    struct env_batch *batch = env_batch_new(env, COUNT, 0);
    cr_assert_not_null(batch);
    const uint32_t left[COUNT] = {0};
    cr_assert(env_batch_step(batch, left), "nobody is awake");
    for (uint32_t i = 0; i < COUNT; i++)
        cr_assert_eq(batch->ended[i], ENV_UNSTARTED);
    for (uint32_t i = 0; i < COUNT; i += 2)
        cr_assert(env_batch_reset(batch, i));
    for (int t = 0; t < 5; t++)
        cr_assert(env_batch_step(batch, left));
    cr_assert(env_batch_restart(batch));
    for (uint32_t i = 0; i < COUNT; i++) {
        cr_assert_eq(batch->ended[i], ENV_RUNNING);
        cr_assert_eq(batch->steps[i], i % 2 == 0 ? 5 : 0);
        cr_assert_eq(batch->returns[i], i % 2 == 0 ? 5.0 : 0.0);
    }
    for (int t = 0; t < 20; t++) /* always left: nobody stands longer than that */
        cr_assert(env_batch_step(batch, left));
    for (uint32_t i = 0; i < COUNT; i++)
        cr_assert_eq(batch->ended[i], ENV_TERMINATED);
    env_batch_free(batch);
    env_batch_free(NULL);
}

/* A world that breaks in its third step, and one that does not open. */
static bool frail_reset(void *state, const double *parameters, struct rng *rng, double *observation)
{
    (void)parameters, (void)rng;
    *(int *)state = 0;
    observation[0] = 0.0;
    return true;
}

static struct env_outcome frail_step(void *state, const double *parameters, unsigned action,
                                     struct rng *rng, double *observation)
{
    (void)parameters, (void)rng, (void)action;
    observation[0] = 0.0;
    return (struct env_outcome){.failed = ++*(int *)state == 3};
}

static bool closed_door(const struct env *env, void *state)
{
    (void)env, (void)state;
    return false;
}

static void no_close(void *state)
{
    (void)state;
}

Test(env_batch, a_world_that_breaks_or_does_not_open_is_reported)
{
    struct env frail = {.name = "frail",
                        .state_dim = 1,
                        .action_count = 2,
                        .state_size = sizeof(double),
                        .reset = frail_reset,
                        .step = frail_step};
    struct env_batch *batch = env_batch_new(&frail, 3, 0);
    const uint32_t actions[3] = {0};
    cr_assert(batch && env_batch_restart(batch));
    cr_assert(env_batch_step(batch, actions));
    cr_assert(env_batch_step(batch, actions));
    cr_assert_not(env_batch_step(batch, actions));
    env_batch_free(batch);
    frail.open = closed_door;
    frail.close = no_close;
    cr_assert_null(env_batch_new(&frail, 3, 0));
}
